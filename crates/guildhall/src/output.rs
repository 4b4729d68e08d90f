//! The structured output of work.

use guildhall_kernel::{Acceptance, Limit, Outcome};
use serde::de::DeserializeOwned;

use crate::session::Ended;

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The caller asked for no output.
    #[error("this work has no output: set its JSON schema with `Undertaking::output` before the work starts")]
    NotAsked,
    /// The report does not follow the schema, or there is no report.
    #[error("the report does not follow the JSON schema of the output: {why}\nThe report says: {text}")]
    NotAccepted {
        /// What is wrong with the report.
        why: String,
        /// The text of the report.
        text: String,
    },
    /// The output follows the schema, but can't be read as the type of the program.
    #[error(
        "the output follows its JSON schema, but can't be read as the type that the program asks for: {why}\nThe output is: {output}"
    )]
    WrongType {
        /// The error of serde.
        why: serde_json::Error,
        /// The output, as JSON.
        output: String,
    },
}

impl Ended {
    /// Returns the output as a value of any type. [`Undertaking::output`](crate::Undertaking::output) asks for an output.
    ///
    /// ```
    /// use guildhall::{Hall, Price, Reply, model_fn};
    /// use serde_json::json;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Meeting {
    ///     day: String,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let project = tempfile::tempdir()?;
    /// let clerk = model_fn(|_| async { Reply::words(r#"It is {"day": "Tuesday"}."#) });
    /// let hall = Hall::builder().project(project.path()).model("clerk", clerk, Price::FREE).build()?;
    /// let form = json!({"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]});
    /// let meeting: Meeting = hall.run("When is the meeting?").output(form).await?.output()?;
    /// assert_eq!(meeting.day, "Tuesday");
    /// # Ok(())
    /// # }
    /// ```
    pub fn output<T: DeserializeOwned>(&self) -> Result<T, OutputError> {
        if self.setup.brief.checks.is_empty() {
            return Err(OutputError::NotAsked);
        }
        match (self.report.acceptance, &self.structured) {
            (Acceptance::Accepted, Some(output)) => {
                serde_json::from_str(output).map_err(|why| OutputError::WrongType { why, output: output.clone() })
            }
            (Acceptance::Accepted | Acceptance::NotAccepted, _) => {
                Err(OutputError::NotAccepted { why: self.why_not_accepted(), text: self.text.clone() })
            }
        }
    }

    /// Why the report was not accepted.
    fn why_not_accepted(&self) -> String {
        let otherwise = match self.report.outcome {
            Outcome::Done => "the report could not be checked",
            Outcome::Exhausted(Limit::Purse) => "the money ran out",
            Outcome::Exhausted(Limit::Turns) => "the turns ran out",
            Outcome::Exhausted(Limit::Deadline) => "the time ran out",
            Outcome::Exhausted(Limit::Asked) => "the work was asked to wrap up",
            Outcome::Exhausted(Limit::Length) => "the report could not be finished",
            Outcome::Failed => "the model failed",
            Outcome::Cancelled => "the work was cancelled",
        };
        self.failure.as_deref().or(self.finding.as_deref()).unwrap_or(otherwise).to_owned()
    }
}
