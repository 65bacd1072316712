//! Parses CloudFormation's answer to `DescribeStacks`: XML
//! (<https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html>).

use std::collections::BTreeMap;

use quick_xml::events::Event;
use quick_xml::{Reader, escape};

/// Elements inside one another: the deepest that is read lies at seven.
const MAX_DEPTH: usize = 32;

/// What CloudFormation says of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Description {
    /// Its state: `UPDATE_COMPLETE`.
    pub(super) status: String,
    /// Why it is in that state, if CloudFormation says so.
    pub(super) reason: Option<String>,
    /// Its outputs.
    pub(super) outputs: BTreeMap<String, String>,
    /// Its parameters.
    pub(super) parameters: BTreeMap<String, String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The stack.
    Stack(Box<Description>),
    /// An error.
    Refused {
        /// AWS's name of it: `AccessDenied`.
        code: String,
        /// Its text.
        message: String,
    },
}

/// Why an answer cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// It is not XML.
    #[error("the answer is not XML: {0}")]
    Xml(#[from] quick_xml::Error),
    /// It is not XML: a reference to something that is not defined.
    #[error("the answer is not XML: &{0}; is not defined")]
    Reference(String),
    /// It is XML of something else.
    #[error("the answer is not CloudFormation's: {0}")]
    Other(&'static str),
}

/// Reads an answer, whatever its status was: an error is an element of its own.
pub(super) fn read(xml: &str) -> Result<Answer, Unreadable> {
    let mut stack: Option<Description> = None;
    let (mut code, mut message) = (None, String::new());
    // Of the output or the parameter that is being read.
    let (mut key, mut value) = (String::new(), String::new());
    elements(xml, |path, text| match path {
        ["ErrorResponse", "Error", "Code"] => code = Some(text),
        ["ErrorResponse", "Error", "Message"] => message = text,
        [
            "DescribeStacksResponse",
            "DescribeStacksResult",
            "Stacks",
            "member",
            of_stack @ ..,
        ] => {
            let stack = stack.get_or_insert_default();
            match of_stack {
                ["StackStatus"] => stack.status = text,
                ["StackStatusReason"] => stack.reason = Some(text),
                ["Outputs", "member", "OutputKey"] | ["Parameters", "member", "ParameterKey"] => {
                    key = text;
                }
                ["Outputs", "member", "OutputValue"]
                | ["Parameters", "member", "ParameterValue"] => value = text,
                [pairs @ ("Outputs" | "Parameters"), "member"] => {
                    let pair = (std::mem::take(&mut key), std::mem::take(&mut value));
                    match *pairs {
                        "Outputs" => stack.outputs.extend([pair]),
                        _ => stack.parameters.extend([pair]),
                    }
                }
                _ => {}
            }
        }
        _ => {}
    })?;
    match (code, stack) {
        (Some(code), _) => Ok(Answer::Refused { code, message }),
        (None, Some(stack)) if stack.status.is_empty() => {
            Err(Unreadable::Other("its stack has no StackStatus"))
        }
        (None, Some(stack)) => Ok(Answer::Stack(Box::new(stack))),
        (None, None) => Err(Unreadable::Other("it has neither a stack nor an error")),
    }
}

/// Runs `ended` at the end of each element. Its first argument has the names of the element and of those around it, outermost first. Its
/// second is the text since the last tag: all text of a leaf.
pub(crate) fn elements(
    xml: &str,
    mut ended: impl FnMut(&[&str], String),
) -> Result<(), Unreadable> {
    let mut reader = Reader::from_str(xml);
    let (mut path, mut text) = (Vec::<String>::new(), String::new());
    loop {
        match reader.read_event()? {
            Event::Start(tag) => {
                path.push(tag.local_name().as_ref().to_owned());
                if path.len() > MAX_DEPTH {
                    return Err(Unreadable::Other("its elements are nested too deep"));
                }
                text.clear();
            }
            Event::Empty(tag) => {
                let tag = tag.local_name().as_ref().to_owned();
                let names: Vec<&str> = path.iter().map(String::as_str).chain([&*tag]).collect();
                ended(&names, String::new());
                text.clear();
            }
            Event::Text(part) => text.push_str(&part),
            Event::CData(part) => text.push_str(&part),
            Event::GeneralRef(reference) => {
                // The five of XML, and characters by their numbers: no other is defined without a DTD.
                let whole = format!("&{};", &*reference);
                let known = escape::unescape_with(&whole, escape::resolve_xml_entity);
                let known = known.map_err(|_| Unreadable::Reference(reference.to_string()))?;
                text.push_str(&known);
            }
            Event::End(_) => {
                let names: Vec<&str> = path.iter().map(String::as_str).collect();
                ended(&names, std::mem::take(&mut text));
                path.pop();
            }
            Event::Eof if path.is_empty() => return Ok(()),
            Event::Eof => return Err(Unreadable::Other("it ends early")),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: &str = r#"<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">
  <DescribeStacksResult>
    <Stacks>
      <member>
        <StackName>prod</StackName>
        <Description>A stack &lt;of ours&gt;</Description>
        <Parameters>
          <member>
            <ParameterKey>SourceMapping</ParameterKey>
            <ParameterValue>{&quot;a&quot;:&quot;&#228; &amp; b&quot;}</ParameterValue>
          </member>
          <member>
            <ParameterValue>www.example.com</ParameterValue>
            <ParameterKey>Sites</ParameterKey>
          </member>
          <member><ParameterKey>SourceTable</ParameterKey><ParameterValue/></member>
        </Parameters>
        <Outputs>
          <member>
            <OutputKey>ContentTableName</OutputKey>
            <OutputValue>prod-ContentTable-1</OutputValue>
            <Description>Write content records here.</Description>
          </member>
        </Outputs>
        <Tags><member><Key>StackStatus</Key><Value>x</Value></member></Tags>
        <StackStatus>UPDATE_ROLLBACK_COMPLETE</StackStatus>
        <StackStatusReason>it failed</StackStatusReason>
      </member>
    </Stacks>
  </DescribeStacksResult>
  <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
</DescribeStacksResponse>"#;

    #[test]
    fn a_stack_is_read_with_its_outputs_and_parameters() {
        let pairs = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            pairs.collect()
        };
        let expected = Description {
            status: "UPDATE_ROLLBACK_COMPLETE".to_owned(),
            reason: Some("it failed".to_owned()),
            outputs: pairs(&[("ContentTableName", "prod-ContentTable-1")]),
            parameters: pairs(&[
                ("SourceMapping", r#"{"a":"ä & b"}"#),
                ("Sites", "www.example.com"),
                ("SourceTable", ""),
            ]),
        };
        assert_eq!(read(STACK).unwrap(), Answer::Stack(Box::new(expected)));
    }

    #[test]
    fn an_error_is_read() {
        let xml = "<ErrorResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\"><Error><Type>Sender</Type>\
            <Code>ValidationError</Code><Message>Stack with id prod does not exist</Message></Error>\
            <RequestId>1</RequestId></ErrorResponse>";
        let expected = Answer::Refused {
            code: "ValidationError".to_owned(),
            message: "Stack with id prod does not exist".to_owned(),
        };
        assert_eq!(read(xml).unwrap(), expected);
    }

    #[test]
    fn what_is_no_answer_says_so() {
        for (xml, expected) in [
            ("", "neither a stack nor an error"),
            (
                "<html><body>Sign in</body></html>",
                "neither a stack nor an error",
            ),
            ("{}", "neither a stack nor an error"),
            (&STACK[..STACK.len() / 2], "it ends early"),
            ("<a></b>", "not XML"),
            ("<a>&nope;</a>", "&nope; is not defined"),
            (&"<a>".repeat(MAX_DEPTH + 1), "too deep"),
            (&STACK.replace("StackStatus>", "Other>"), "no StackStatus"),
        ] {
            let error = read(xml).unwrap_err().to_string();
            assert!(error.contains(expected), "{expected} in {error}");
        }
    }
}
