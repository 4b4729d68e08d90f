//! The structured output of work that asked for one.

use guildhall_kernel::{Acceptance, Limit, Outcome};
use serde::de::DeserializeOwned;

use crate::session::Ended;

/// Why there is no output to be had.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// None was asked for.
    #[error("no output was asked for: say with `Undertaking::output` what form it is to have")]
    NotAsked,
    /// The report is not of the form that was asked for, or there is none.
    #[error("there is no output of the form that was asked for: {why}\nThe report says: {text}")]
    NotAccepted {
        /// What is wrong with it.
        why: String,
        /// What it says.
        text: String,
    },
    /// It is of the form that was asked for, and yet not what the program takes.
    #[error("the output is of the form that was asked for, but it can't be taken: {why}\nIt is: {output}")]
    Unfit {
        /// What is wrong with it.
        why: serde_json::Error,
        /// What it is, as JSON.
        output: String,
    },
}

impl Ended {
    /// Returns the output, as a value of the program's own. [`Undertaking::output`](crate::Undertaking::output) asks for one.
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
                serde_json::from_str(output).map_err(|why| OutputError::Unfit { why, output: output.clone() })
            }
            (Acceptance::Accepted | Acceptance::NotAccepted, _) => {
                Err(OutputError::NotAccepted { why: self.shortcoming(), text: self.text.clone() })
            }
        }
    }

    /// Why the report was not accepted.
    fn shortcoming(&self) -> String {
        let otherwise = match self.report.outcome {
            Outcome::Done => "it could not be checked",
            Outcome::Exhausted(Limit::Purse) => "the money ran out",
            Outcome::Exhausted(Limit::Turns) => "the turns ran out",
            Outcome::Exhausted(Limit::Deadline) => "the time ran out",
            Outcome::Exhausted(Limit::Asked) => "it was asked to wrap up",
            Outcome::Failed => "the model failed",
            Outcome::Cancelled => "it was cancelled",
        };
        self.failure.as_deref().or(self.finding.as_deref()).unwrap_or(otherwise).to_owned()
    }
}
