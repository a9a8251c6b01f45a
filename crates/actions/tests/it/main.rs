//! Actions against real receivers on loopback: each rule of the contract about outgoing requests.

#![allow(clippy::unwrap_used, reason = "a test that can't set up should stop")]

mod amqp;
mod answer;
mod authentication;
mod azurite;
mod bus;
mod cause;
mod certificate;
mod client_certificate;
mod connection;
mod egress;
mod failure;
mod go;
mod oauth;
mod rabbitmq;
mod receiver;
mod redirect;
mod request;
mod service_bus;
mod settings;
mod storage_queue;
mod tls;
mod world;
