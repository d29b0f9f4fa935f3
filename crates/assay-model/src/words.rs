//! Enums whose values are words: in options, in study files, in ledgers and in results.

/// An enum whose values are words.
pub trait Words: Copy + PartialEq + Send + Sync + 'static {
    /// Every value with its word and its meaning, in the order in which a help lists them.
    const WORDS: &'static [(Self, &'static str, &'static str)];
}

/// Defines an enum with the word of each value. Its documentation is also what a help says about the word.
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
            /// The word used on the command line and in every file and output format.
            #[must_use]
            pub fn word(self) -> &'static str {
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
