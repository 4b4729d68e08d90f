//! A provider over TLS: its certificate must be one that the system trusts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::house::{House, Running, Wire, says};

/// A provider over TLS that accepts one connection. It returns the error of the handshake.
fn provider() -> (SocketAddr, JoinHandle<std::io::Result<()>>) {
    let certificate = CertificateDer::from_pem_file(fixture("tls-certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("tls-key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, thread::spawn(move || answer(listener.accept()?.0, config)))
}

/// Reads one request and sends an answer.
fn answer(stream: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).expect("the settings are complete");
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let mut bytes = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end().to_ascii_lowercase().strip_prefix("content-length: ") {
            Some(length) => bytes = length.parse().expect("a length"),
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    stream.read_exact(&mut vec![0; bytes])?;
    let message = json!({"role": "assistant", "content": "On Tuesday."});
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 3});
    let body = json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    let stream = stream.get_mut();
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len())?;
    stream.flush()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Starts a task at a provider over TLS.
fn start(house: &House, address: SocketAddr, trusted: Option<&Path>) -> Running {
    let mut command = house.command(&["run", "When is the meeting?", "--yes", "--output", "json"]);
    command.env("OPENAI_BASE_URL", format!("https://{address}/v1"));
    command.envs(trusted.map(|file| ("SSL_CERT_FILE", file)));
    Running::start(command, "")
}

fn house() -> House {
    House::new(Wire::OpenAi, &json!([{"then": says("without TLS")}]))
}

#[test]
fn a_provider_with_a_trusted_certificate_is_used_over_tls() {
    let (house, (address, served)) = (house(), provider());
    let ended = start(&house, address, Some(&fixture("tls-certificate.pem"))).end().expect(0);
    assert_eq!(ended.json()["answer"], "On Tuesday.");
    served.join().unwrap().unwrap();
}

#[test]
fn a_provider_with_an_unknown_certificate_gets_no_request() {
    let (house, (address, served)) = (house(), provider());
    let running = start(&house, address, None);
    running.told("certificate");
    running.kill();
    served.join().unwrap().unwrap_err();
}
