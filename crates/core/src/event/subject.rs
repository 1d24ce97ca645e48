//! How the events of one subject are declared: each once, with its stored kind.

/// Declares the events of a subject. Each has the kind that it is stored under, so that
/// this stands beside its shape and nowhere else.
macro_rules! subject_events {
    (
        $(#[$doc:meta])*
        $name:ident {
            $(
                $(#[$event_doc:meta])*
                $kind:literal $event:ident $({ $($fields:tt)* })? $(( $($body:tt)* ))?,
            )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "kind", content = "body")]
        pub enum $name {
            $(
                $(#[$event_doc])*
                #[serde(rename = $kind)]
                $event $({ $($fields)* })? $(( $($body)* ))?,
            )*
        }

        impl $name {
            /// The kinds under which its events are stored.
            pub(super) const KINDS: &[&str] = &[$($kind),*];

            /// The kind under which the event is stored.
            pub(super) fn kind(&self) -> &'static str {
                match self {
                    $(Self::$event { .. } => $kind,)*
                }
            }
        }
    };
}

pub(super) use subject_events;
