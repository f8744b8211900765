//! `cajole serve`: an HTTP service, and a page where one sees a network change its mind.

/// The description of the API, as OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../openapi.json");
