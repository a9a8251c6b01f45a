//! Parameters of statements, each with its type.
//!
//! With the types at hand a statement can be sent without being prepared first, as a pooler in transaction mode needs it.

use tokio_postgres::types::{ToSql, Type};

/// A parameter and its type.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// A value that has one type in SQL.
pub(crate) trait Typed: ToSql + Sync {
    const TYPE: Type;
}

macro_rules! typed {
    ($($rust:ty => $sql:ident),+ $(,)?) => {$(
        impl Typed for $rust {
            const TYPE: Type = Type::$sql;
        }
    )+};
}

typed! {
    i64 => INT8,
    i32 => INT4,
    i16 => INT2,
    bool => BOOL,
    String => TEXT,
    &str => TEXT,
    Vec<u8> => BYTEA,
    &[u8] => BYTEA,
    Option<&str> => TEXT,
    Option<i64> => INT8,
    Option<i16> => INT2,
    Option<Vec<u8>> => BYTEA,
    Vec<i64> => INT8_ARRAY,
    Vec<i16> => INT2_ARRAY,
    Vec<bool> => BOOL_ARRAY,
    Vec<String> => TEXT_ARRAY,
    Vec<&str> => TEXT_ARRAY,
    Vec<Vec<u8>> => BYTEA_ARRAY,
    Vec<Option<i64>> => INT8_ARRAY,
    Vec<Option<i16>> => INT2_ARRAY,
    Vec<Option<Vec<u8>>> => BYTEA_ARRAY,
}

/// The parameter of a value.
pub(crate) fn param<T: Typed>(value: &T) -> Param<'_> {
    (value, T::TYPE)
}

/// The parameters of a statement.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::param::param(&$value)),*] };
}

pub(crate) use params;
