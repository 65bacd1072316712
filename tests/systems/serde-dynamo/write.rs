//! Structs with derived `Serialize`, and chrono's times: what is not there is `None`, and a set is a `BTreeSet`.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Content {
    pages: Vec<Page>,
}

#[derive(Deserialize, Serialize)]
struct Page {
    #[serde(default)]
    id: String,
    slug: String,
    title: String,
    state: String,
    hidden: Option<bool>,
    summary: Option<String>,
    canonical: Option<String>,
    modified: Option<DateTime<Utc>>,
    expires: Option<DateTime<Utc>>,
    priority: Option<f64>,
    position: Option<u32>,
    tags: Option<BTreeSet<String>>,
    images: Option<Vec<Image>>,
    seo: Option<Seo>,
}

#[derive(Deserialize, Serialize)]
struct Image {
    src: String,
    caption: String,
}

#[derive(Deserialize, Serialize)]
struct Seo {
    noindex: bool,
}

#[derive(Serialize)]
struct Value<T> {
    id: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    value: BTreeMap<&'static str, T>,
}

#[derive(Serialize)]
struct Nested {
    title: &'static str,
}

struct Table {
    client: Client,
    name: &'static str,
    refused: BTreeMap<&'static str, String>,
}

impl Table {
    async fn put(&self, value: impl Serialize) -> Result<(), String> {
        let item = serde_dynamo::to_item(value).map_err(|_| "Error".to_owned())?;
        let put = self
            .client
            .put_item()
            .table_name(self.name)
            .set_item(Some(item));
        let answer = put.send().await;
        answer.map(drop).map_err(|error| {
            let error = error.into_service_error();
            error.meta().code().unwrap_or("Error").to_owned()
        })
    }

    /// Writes an item with one attribute, or with none.
    async fn probe(&mut self, kind: &'static str, value: Option<impl Serialize>) {
        let value = value.map(|value| (kind, value)).into_iter().collect();
        if let Err(name) = self
            .put(Value {
                id: kind,
                kind,
                value,
            })
            .await
        {
            self.refused.insert(kind, format!("refused: {name}"));
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let endpoint = std::env::var("AWS_ENDPOINT_URL_DYNAMODB").expect("an endpoint");
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .endpoint_url(endpoint)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let client = Client::from_conf(config);
    let table = |name| Table {
        client: client.clone(),
        name,
        refused: BTreeMap::new(),
    };

    let pages = table("magazine");
    let text = std::fs::read_to_string("content.json").expect("the content");
    let content: Content = serde_json::from_str(&text).expect("pages");
    for page in content.pages {
        let id = page.slug.clone();
        pages
            .put(Page { id, ..page })
            .await
            .expect("a page is written");
    }

    let mut values = table("values");
    let day = NaiveDate::from_ymd_opt(2026, 3, 1).expect("a day");
    let instant = day
        .and_hms_milli_opt(10, 20, 30, 500)
        .expect("a time")
        .and_utc();
    values.probe("absent", None::<()>).await;
    values.probe("instant", Some(instant)).await;
    values.probe("day", Some(day)).await;
    values.probe("yes", Some(true)).await;
    values.probe("no", Some(false)).await;
    values.probe("nothing", Some(None::<String>)).await;
    values.probe("blank", Some("")).await;
    values
        .probe("words", Some(BTreeSet::from(["a", "b"])))
        .await;
    values
        .probe("no_words", Some(BTreeSet::<String>::new()))
        .await;
    values.probe("steps", Some(["a", "b"])).await;
    values.probe("share", Some(0.8)).await;
    values.probe("count", Some(42)).await;
    values.probe("nested", Some(Nested { title: "Soup" })).await;
    println!("{}", serde_json::to_string(&values.refused).expect("JSON"));
}
