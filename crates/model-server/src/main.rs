//! Runs the model server; what it does is in the library.

use std::process::ExitCode;

use guildhall_model_server::{Options, serve};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| serve(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guildhall-model-server: {error}");
            ExitCode::from(2)
        }
    }
}
