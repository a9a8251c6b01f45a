//! What docs/reference/api.md and docs/guide/access.md show is what the tests of the clients do.

use std::path::Path;

#[test]
fn snippets_are_those_that_the_client_tests_use() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let document = read("docs/reference/api.md") + &read("docs/guide/access.md");
    let mut count = 0;
    for part in document.split("<!-- from ").skip(1) {
        let (file, rest) = part.split_once(" -->\n```").unwrap();
        let snippet = rest.split_once('\n').unwrap().1.split("```").next().unwrap();
        let source = std::fs::read_to_string(root.join(file)).unwrap();
        assert!(source.contains(snippet), "{file} no longer has\n{snippet}");
        count += 1;
    }
    assert_eq!(count, 7);
}
