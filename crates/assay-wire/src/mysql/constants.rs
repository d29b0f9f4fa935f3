//! The protocol's numbers that this client uses or names.

bitflags::bitflags! {
    /// Capabilities that client and server offer each other during the login.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct CapabilityFlags: u32 {
        /// Passwords are hashed as since 4.1.
        const CLIENT_LONG_PASSWORD = 1;
        /// Unchanged rows count as written.
        const CLIENT_FOUND_ROWS = 1 << 1;
        /// Columns have all flags.
        const CLIENT_LONG_FLAG = 1 << 2;
        /// The login names a database.
        const CLIENT_CONNECT_WITH_DB = 1 << 3;
        /// Packets are compressed.
        const CLIENT_COMPRESS = 1 << 5;
        /// The server may request files of the client.
        const CLIENT_LOCAL_FILES = 1 << 7;
        /// The protocol of 4.1.
        const CLIENT_PROTOCOL_41 = 1 << 9;
        /// The connection is encrypted.
        const CLIENT_SSL = 1 << 11;
        /// OK packets have the status of the transaction.
        const CLIENT_TRANSACTIONS = 1 << 13;
        /// The authentication of 4.1.
        const CLIENT_SECURE_CONNECTION = 1 << 15;
        /// One command may contain several statements.
        const CLIENT_MULTI_STATEMENTS = 1 << 16;
        /// A text statement may have several results.
        const CLIENT_MULTI_RESULTS = 1 << 17;
        /// A prepared statement may have several results.
        const CLIENT_PS_MULTI_RESULTS = 1 << 18;
        /// The login names its method.
        const CLIENT_PLUGIN_AUTH = 1 << 19;
        /// Results end with an OK packet instead of an EOF packet.
        const CLIENT_DEPRECATE_EOF = 1 << 24;
    }
}

#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(crate) enum Command {
    Quit = 1,
    Query = 3,
    Prepare = 22,
    Execute = 23,
    CloseStatement = 25,
}

pub(crate) const LONGLONG: u8 = 8;
pub(crate) const VAR_STRING: u8 = 253;
