//! Guildhall with a model and a tool that are functions of this program: a clerk lists what is on a shelf.
use guildhall::{Hall, Msat, REHEARSAL_PRICE, Reply, model_fn, tool_fn};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = json!({"type": "object", "properties": {"shelf": {"type": "string"}}, "required": ["shelf"]});
    let stock = tool_fn("stock", "Lists what is on a shelf.", schema, |arguments: Value| async move {
        if arguments["shelf"] == "north" { Ok("12 lanterns") } else { Err("unknown shelf: try north") }
    });
    let clerk = model_fn(|prompt| async move {
        let Some(found) = prompt.last_result() else { return Reply::call("stock", json!({"shelf": "north"})) };
        Reply::words(format!("The north shelf has {found}."))
    });
    let hall = Hall::builder().model("clerk", clerk, REHEARSAL_PRICE).tool(stock).build()?;
    let ended = hall.run("What is on the north shelf?").budget(Msat::from_sat(100)?).await?;
    println!("{}", ended.text);
    println!("It cost {} of {}.", ended.report.spent, ended.granted);
    Ok(())
}
