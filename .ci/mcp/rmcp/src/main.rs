//! Connects the official Rust SDK to a server in each of its modes, lists, calls, and pages through a search.
//!
//!     check-rmcp URL

use std::collections::BTreeSet;
use std::error::Error;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: check-rmcp URL")?;
    let stateless = vec![ProtocolVersion::V_2026_07_28];
    let modes = [
        ("initialize", ClientLifecycleMode::Initialize),
        (
            "discover",
            ClientLifecycleMode::Discover {
                preferred_versions: stateless.clone(),
            },
        ),
        (
            "auto",
            ClientLifecycleMode::Auto {
                preferred_versions: stateless,
                legacy_version: None,
            },
        ),
    ];
    for (name, mode) in modes {
        let transport = StreamableHttpClientTransport::from_uri(url.clone());
        let client = ().serve_with_lifecycle(transport, mode).await?;
        let (tools, reviews) = walk(&client).await?;
        println!("rmcp, {name}: {tools} tools, {reviews} reviews");
        client.cancel().await?;
    }
    Ok(())
}

/// Lists everything and pages through a search; returns the number of tools and the number of reviews found.
async fn walk(client: &RunningService<RoleClient, ()>) -> Result<(usize, usize), Box<dyn Error>> {
    let tools = client.list_all_tools().await?;
    assert!(!client.list_all_resources().await?.is_empty());
    assert!(!client.list_all_prompts().await?.is_empty());
    let mut seen = BTreeSet::new();
    let mut arguments = json!({"rating": 5, "limit": 40});
    loop {
        let page = search(client, &arguments).await?;
        for review in page["reviews"].as_array().ok_or("no reviews")? {
            let id = review["id"].as_str().ok_or("no id")?;
            assert!(seen.insert(id.to_owned()), "{id} comes twice");
        }
        if page["next_cursor"].is_null() {
            assert_eq!(page["matched"], json!(seen.len()));
            return Ok((tools.len(), seen.len()));
        }
        arguments["cursor"] = page["next_cursor"].clone();
    }
}

/// Calls the search, and checks that both copies of its result are equal.
async fn search(
    client: &RunningService<RoleClient, ()>,
    arguments: &Value,
) -> Result<Value, Box<dyn Error>> {
    let mut call = CallToolRequestParams::new("search_reviews");
    call.arguments = arguments.as_object().cloned();
    let result = client.call_tool(call).await?;
    assert_ne!(result.is_error, Some(true), "{result:?}");
    let structured = result.structured_content.ok_or("no structured content")?;
    let text = result
        .content
        .first()
        .and_then(|content| content.as_text())
        .ok_or("no text")?;
    assert_eq!(structured, serde_json::from_str::<Value>(&text.text)?);
    Ok(structured)
}
