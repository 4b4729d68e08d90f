//! The examples at the end of the help texts.

pub(super) const EXAMPLES: &str = "\
Examples:
  guildhall \"Which of our endpoints have no test?\"
  guildhall run --budget 2000sat --model haiku \"Summarise docs/\"
  guildhall demo                        watch a team at work, without a key
  guildhall chat --budget 2000sat       talk with an agent and its team
  guildhall -c \"And which are slow?\"    continue the newest session of this directory with another task
  guildhall resume last                 continue the newest session after an interruption
  guildhall show brave/1.2              show the work of one agent; ids can be shortened
  guildhall transcript last             print the messages of the first agent as JSON lines
  guildhall models                      list the models and their prices

A task of several words needs no command: it is a task for `run`. All flags: guildhall run --help

Exit codes: 0 done, 1 failed, 2 usage, 3 out of budget or time, 4 refused, 5 provider, 6 wallet, 7 partial, 75 temporary, 130 interrupted.";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  guildhall run \"When is the meeting, and who said so?\"
  git diff | guildhall run --budget 0.10usd --agent reviewer.md \"Review this change\"
  guildhall run --timeout 10m --max-turns 20 --output json \"List the public functions\"
  guildhall run --continue brave-otter-17 \"And who was invited?\"
  guildhall run -c -m haiku \"And where?\"     continue the newest session of this directory
  guildhall run --team examples/payment --tasks tasks.toml --budget 500sat

A task file. Each task starts after the tasks in `after` have reported, and receives their reports:
  [[task]]
  name = \"logs\"
  agent = \"log-reader\"
  task = \"Which errors are new?\"
  [[task]]
  agent = \"writer\"
  task = \"Write a summary for the team.\"
  after = [\"logs\"]
  budget = \"40sat\"

Without --model, the model of the config is used. If the config names no model, it is sonnet or gpt-5-mini, if \
ANTHROPIC_API_KEY or OPENAI_API_KEY is set. Otherwise guildhall looks for a model server on this machine (127.0.0.1, ports \
11434, 1234, 8080 and 8000) and asks you before it uses the server. If there is no model at all, a terminal offers the \
rehearsal, a simple program in place of a model, and a script gets exit code 2. All settings: docs/configuration.md.

The text of a stdin that is a pipe or a file is added to the task, up to 64 KiB together; add </dev/null where a script leaves \
stdin open. Questions are then asked at the terminal itself. A list of tasks does not read stdin.

Press Ctrl-C once to ask for a last report, which is paid for. Press it twice to stop immediately; `guildhall resume ID` \
continues. Everything so far is saved in both cases. A call that is cut off may be billed, so its money stays reserved.";

pub(super) const CHAT_EXAMPLES: &str = "\
Examples:
  guildhall chat --team examples/research --budget 2000sat
  guildhall chat --continue brave-otter-17

A line whose first word is a slash and letters is a command. It is not sent to the agent and costs nothing: /help, /cost, /agents, \
/model, /clear and /exit. A path such as /etc/passwd is a message. `/model NAME` goes on with another model, and /clear without the \
conversation so far: both end the work of the first agent, and the next message begins anew with the money that is left. The limits \
on replies and hires begin anew, too.

Hires in the background work while you talk. The conversation ends after their last report. From another terminal:
  guildhall hire ID AGENT TASK          add an agent to the conversation yourself

Press Ctrl-C once to end the conversation, with a last report if the agent is at work; `guildhall chat --continue ID` \
continues. Press it twice to stop immediately; `guildhall resume ID` continues.";

pub(super) const CORRECT_EXAMPLES: &str = "\
Examples:
  guildhall show brave-otter-17                     lists the calls with reserved money
  guildhall correct brave-otter-17 1.2#7 0          the provider billed nothing for this call
  guildhall correct brave-otter-17 1.2#7 0.002usd   the provider billed this amount; the rest is free again
  guildhall correct brave-otter-17 --all 0          the provider billed nothing for any of the reserved calls

Money stays reserved for a call that was lost, was stopped or failed, or whose cost was not reported. The provider may have \
billed the call, so the reserved money counts against the budget until you correct it.";

pub(super) const TRANSCRIPT_EXAMPLES: &str = "\
Examples:
  guildhall transcript last                         the first agent of the newest session
  guildhall transcript brave-otter-17/1.2           one hire
  guildhall transcript last | jq -r 'select(.type == \"assistant\") | .message.content[].text // empty'
  guildhall transcript last --all transcripts       one file for each agent: transcripts/1.jsonl, 1.1.jsonl, …

Each line is a JSON object in the format in which Claude Code writes its own transcripts. The first line has the system prompt \
and the tools. After it come messages (`user`, `assistant`) and all other facts (`system`): each of these lines has its stored \
fact in `stored`, and in `texts` the texts of the fact that its message does not show. Texts are cut after 256 KiB. Times are \
session time, which stands still while a session does not run. The second request of a continued session is ID/2.

An agent was also shown some text that is not repeated here: the conversation before its own, which `continues` in the first \
line names (ID/1 for ID/2; \"ID/1 up to ask #3\" for a copy of an agent), and the status after the newest message of each request \
(money, turns and time that are left). A line `compacted` says that later requests had older tool results in short form.

--all prints the path of each file. A pipe gets the exact bytes. A terminal gets escapes in place of invisible characters.

To write transcripts while the work runs, use --transcripts DIR with run, chat or resume.";

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  echo 'source <(guildhall completions bash)' >> ~/.bashrc
  echo 'source <(guildhall completions zsh)' >> ~/.zshrc
  guildhall completions fish > ~/.config/fish/completions/guildhall.fish";
