//! The statements of `queries/`, each as a constant that is named like its file (`build.rs` makes them). There
//! is no other SQL in this crate except `migrations/`. The compiler warns of an unused one.

mod text {
    #![expect(non_upper_case_globals, reason = "a query is named like its file")]

    include!(concat!(env!("OUT_DIR"), "/queries.rs"));
}

pub(crate) use text::*;
