//! The numbers that represent enum values in documents and columns. They never change.

use punctual_model::access::{CallerKind, Role};
use punctual_model::audit::AuditOutcome;
use punctual_model::{Cause, CollectionState, JobState, RecordStatus, SkipReason, Sku, Transport};
use punctual_recurrence::{Frequency, Weekday};

/// A value that is stored as a number.
pub trait Number: Copy + Sized {
    /// The number of this value.
    fn number(self) -> u8;

    /// The value of a number.
    fn from_number(number: i64) -> Option<Self>;
}

macro_rules! numbers {
    ($($name:ident { $($variant:ident = $number:literal),+ $(,)? })+) => {$(
        impl Number for $name {
            fn number(self) -> u8 {
                match self { $(Self::$variant => $number),+ }
            }

            fn from_number(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }
        }
    )+};
}

numbers! {
    AuditOutcome { Done = 0, Denied = 1, Unauthenticated = 2, SignedIn = 3, SignInFailed = 4 }
    CallerKind { Anonymous = 0, Token = 1, ServicePrincipal = 2, OpenId = 3 }
    Cause { Schedule = 0, Run = 1 }
    CollectionState { Enabled = 0, Disabled = 1, Suspended = 2 }
    Frequency { Minute = 0, Hour = 1, Day = 2, Week = 3, Month = 4, Year = 5 }
    JobState { Enabled = 0, Disabled = 1, Completed = 2, Faulted = 3 }
    RecordStatus { Completed = 0, Failed = 1, Postponed = 2 }
    Role { Reader = 0, Operator = 1, Contributor = 2, Owner = 3 }
    SkipReason { Overlap = 0, Missed = 1 }
    Sku { Free = 0, Standard = 1, Premium = 2, P10Premium = 3, P20Premium = 4 }
    Transport { NotSpecified = 0, NetMessaging = 1, Amqp = 2 }
    Weekday {
        Monday = 0, Tuesday = 1, Wednesday = 2, Thursday = 3, Friday = 4, Saturday = 5, Sunday = 6,
    }
}
