//! Enums whose values are words in options, study files, ledgers and results.

pub trait Words: Copy + PartialEq + Send + Sync + 'static {
    /// Every value with its word and its meaning, in the order of the help.
    const WORDS: &'static [(Self, &'static str, &'static str)];
}

/// Defines an enum with a word for each value. Doc comments of values are also the help for their words.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident $((default: $default:ident))? {
            $($(#[doc = $about:literal])+ $value:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[doc = $about])+ #[serde(rename = $word)] $value,)+
        }

        impl $name {
            /// Every value, in the order of the help.
            pub const ALL: [Self; [$(Self::$value,)+].len()] = [$(Self::$value,)+];

            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl $crate::Words for $name {
            const WORDS: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$value, $word, concat!($($about),+)),)+];
        }

        $(impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        })?
    };
}

pub(crate) use words;
