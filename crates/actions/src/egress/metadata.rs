//! The metadata services of clouds: where a machine gets its own credentials from.
//!
//! They answer whoever asks from inside, so an action that could reach one would hand the credentials of the machine
//! to whoever may write jobs. Those in link-local networks are denied with these already; they are listed all the
//! same, since the most specific rule decides: allowing all of 169.254.0.0/16 does not open them.

/// A network of metadata services: the network, whose it is, and where that is documented.
pub(super) struct Metadata {
    pub(super) network: &'static str,
    /// Whose it is. The table is the only place that says so.
    #[cfg_attr(not(test), expect(dead_code, reason = "it is for the reader of the table"))]
    pub(super) clouds: &'static str,
    /// Where the address is documented.
    #[cfg_attr(not(test), expect(dead_code, reason = "it is for the reader of the table"))]
    pub(super) source: &'static str,
}

const fn at(network: &'static str, clouds: &'static str, source: &'static str) -> Metadata {
    Metadata { network, clouds, source }
}

/// All known ones.
pub(super) const METADATA: &[Metadata] = &[
    at(
        "169.254.169.254/32",
        "AWS, Azure, Google, Oracle, OpenStack, DigitalOcean, Hetzner, Linode and most others",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html",
    ),
    at(
        "169.254.170.2/32",
        "AWS ECS: metadata and credentials of a task",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html",
    ),
    at(
        "169.254.170.23/32",
        "AWS EKS: Pod Identity Agent",
        "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html",
    ),
    at(
        "fd00:ec2::/32",
        "AWS: metadata at ::254, Pod Identity Agent at ::23, DNS at ::253",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html",
    ),
    at(
        "168.63.129.16/32",
        "Azure: wire server",
        "https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16",
    ),
    at("fd20:ce::254/128", "Google", "https://cloud.google.com/compute/docs/metadata/querying-metadata"),
    at(
        "100.100.100.200/32",
        "Alibaba",
        "https://www.alibabacloud.com/help/ecs/user-guide/view-instance-metadata",
    ),
    at(
        "fd00:100::100:200/128",
        "Alibaba",
        "https://www.alibabacloud.com/help/ecs/user-guide/view-instance-metadata",
    ),
    at(
        "192.0.0.192/32",
        "Oracle Cloud Classic",
        "https://docs.oracle.com/en/cloud/iaas/compute-iaas-cloud/stcsg/retrieving-instance-metadata.html",
    ),
    at(
        "fd00:c1::a9fe:a9fe/128",
        "Oracle",
        "https://docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm",
    ),
    at(
        "169.254.42.42/32",
        "Scaleway",
        "https://cloudinit.readthedocs.io/en/latest/reference/datasources/scaleway.html",
    ),
    at(
        "fd00:42::42/128",
        "Scaleway",
        "https://cloudinit.readthedocs.io/en/latest/reference/datasources/scaleway.html",
    ),
    at(
        "fe80::a9fe:a9fe/128",
        "OpenStack, Hetzner",
        "https://docs.openstack.org/nova/latest/user/metadata.html",
    ),
    at(
        "fd00:a9fe:a9fe::1/128",
        "Akamai (Linode)",
        "https://cloudinit.readthedocs.io/en/latest/reference/datasources/akamai.html",
    ),
    at("169.254.0.23/32", "Tencent", "https://www.tencentcloud.com/document/product/213/4934"),
];
