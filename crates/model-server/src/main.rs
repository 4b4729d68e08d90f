//! Runs the model server. All logic is in the library.

use std::process::ExitCode;

use guildhall_model_server::serve;

fn main() -> ExitCode {
    match serve(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guildhall-model-server: {error}");
            ExitCode::from(2)
        }
    }
}
