//! TLS with one cryptographic library, `ring`. It is passed to each client and never made the default of the process: that
//! choice belongs to the program that embeds this library.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, Error, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::address::Scheme;

/// Returns the TLS settings of a client. A client that never uses TLS trusts nobody: reading the system's certificates takes
/// time.
pub(crate) fn settings(scheme: Scheme) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let builder = match scheme {
        Scheme::Https => builder.with_platform_verifier()?,
        Scheme::Http => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut settings = builder.with_no_client_auth();
    settings.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(settings)
}
