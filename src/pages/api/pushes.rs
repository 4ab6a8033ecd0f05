//! The entries that take messages: the Model Context Protocol and the hub.

use super::operation::{Answer, Body, Document, Entry, Operation, Tag, Verb};
use super::{Address, parameters};

pub(super) const MCP: Entry = Entry {
    parent: "/",
    last: "mcp",
    address: Address::Mcp,
    tag: Tag::Agents,
    operations: &[
        Operation {
            verb: Verb::Post,
            id: "sendMessage",
            summary: "A message of the Model Context Protocol",
            description: "JSON-RPC 2.0 over streamable HTTP, all revisions from 2024-11-05 to 2026-07-28. A client that takes \
                          events alone gets the same answer as one event. Notifications get 202 without a body.",
            parameters: parameters::SESSION,
            body: Body::Messages(MESSAGES),
            answer: Answer {
                status: "200",
                description: "The answer to the request.",
                media_type: "application/json",
                schema: "JsonRpcAnswer",
                headers: &[("Cache-Control", "NoStore"), ("Mcp-Session-Id", "Session")],
                example: Document::Call,
            },
            others: &[
                ("202", "Taken"),
                ("400", "McpRefused"),
                ("404", "McpRefused"),
                ("default", "McpRefused"),
            ],
        },
        Operation {
            verb: Verb::Delete,
            id: "endSession",
            summary: "The end of a session",
            description: "A client that is done may say so; a session ends by itself after a day.",
            parameters: parameters::SESSION_ENDED,
            body: Body::None,
            answer: Answer {
                status: "204",
                description: "The session is over.",
                media_type: "",
                schema: "",
                headers: UNSTORED,
                example: Document::None,
            },
            others: &[
                ("400", "McpRefused"),
                ("404", "McpRefused"),
                ("default", "McpRefused"),
            ],
        },
    ],
};

pub(super) const HUB: Entry = Entry {
    parent: "/api/websub/",
    last: "hub",
    address: Address::Hub,
    tag: Tag::Push,
    operations: &[Operation {
        verb: Verb::Post,
        id: "subscribe",
        summary: "Subscribe to changes, or end it",
        description: "W3C WebSub. 202 means that the request is on disk; the hub then asks the callback to confirm, and from \
                      then on sends it the topic's whole new content after every change.",
        parameters: &[],
        body: Body::Form,
        answer: Answer {
            status: "202",
            description: "Taken: the callback will be asked.",
            media_type: "text/plain; charset=utf-8",
            schema: "Text",
            headers: &[
                ("Cache-Control", "NoStore"),
                ("Access-Control-Allow-Origin", "AllowOrigin"),
            ],
            example: Document::Fixed("\"accepted, the callback will be asked\\n\""),
        },
        others: &[
            ("400", "HubRefused"),
            ("429", "HubRefused"),
            ("503", "HubUnavailable"),
            ("default", "HubRefused"),
        ],
    }],
};

/// Messages to try.
const MESSAGES: &[(&str, &str)] = &[
    (
        "search",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_reviews","arguments":{"min_rating":4,"limit":2}}}"#,
    ),
    ("tools", r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#),
    (
        "initialize",
        r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"example","version":"1.0"}}}"#,
    ),
];

const UNSTORED: &[(&str, &str)] = &[("Cache-Control", "NoStore")];
