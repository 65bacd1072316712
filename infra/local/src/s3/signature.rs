//! Removes the signature of a request, so that any is accepted.
//!
//! `s3s` checks signatures against known secrets. Here any credentials are accepted, as by every local emulator, and `s3s`
//! accepts a request without a signature as it is. A client that signs in chunks divides the body into frames (`aws-chunked`),
//! which have to be removed too.

use bytes::{Buf, Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Request, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use s3s::Body;

const CHUNKED: &str = "aws-chunked";
const DECODED_LENGTH: &str = "x-amz-decoded-content-length";
const PAYLOAD_HASH: &str = "x-amz-content-sha256";
const TRAILER: &str = "x-amz-trailer";

/// A body whose frames do not match its headers.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("cannot read the request's body: {0}")]
    Transport(#[from] hyper::Error),
    #[error("the request's body is not framed as aws-chunked")]
    Framing,
}

/// Returns the request as if it had never been signed.
pub(super) async fn without_signature(
    request: Request<Incoming>,
) -> Result<Request<Body>, BodyError> {
    let (mut parts, body) = request.into_parts();
    parts.headers.remove(AUTHORIZATION);
    if let Some(uri) = without_presigning(&parts.uri) {
        parts.uri = uri;
    }
    if !parts.headers.contains_key(DECODED_LENGTH) {
        return Ok(Request::from_parts(parts, Body::from(body)));
    }
    let body = unframed(body.collect().await?.to_bytes())?;
    for name in [DECODED_LENGTH, PAYLOAD_HASH, TRAILER] {
        parts.headers.remove(name);
    }
    parts.headers.remove(TRANSFER_ENCODING);
    parts
        .headers
        .insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    remove_chunked_encoding(&mut parts.headers);
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Returns the address without the signature of a presigned URL. Returns `None` if the address has no signature.
fn without_presigning(uri: &Uri) -> Option<Uri> {
    let query = uri
        .query()
        .filter(|query| query.contains("X-Amz-Signature="))?;
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.starts_with("X-Amz-"))
        .collect();
    let target = if kept.is_empty() {
        uri.path().to_owned()
    } else {
        format!("{}?{}", uri.path(), kept.join("&"))
    };
    target.parse().ok()
}

/// Removes `aws-chunked` from the Content-Encoding. It describes the transfer, and S3 does not store it with the object.
fn remove_chunked_encoding(headers: &mut HeaderMap) {
    let Some(encodings) = headers
        .get(CONTENT_ENCODING)
        .and_then(|value| value.to_str().ok())
    else {
        return;
    };
    let kept: Vec<&str> = encodings
        .split(',')
        .map(str::trim)
        .filter(|encoding| !encoding.is_empty() && *encoding != CHUNKED)
        .collect();
    match HeaderValue::from_str(&kept.join(",")) {
        Ok(value) if !value.is_empty() => {
            headers.insert(CONTENT_ENCODING, value);
        }
        _ => {
            headers.remove(CONTENT_ENCODING);
        }
    }
}

/// Joins the chunks: a length in hex, parameters, CR LF, that many bytes, CR LF. The last has length 0.
fn unframed(mut framed: Bytes) -> Result<Bytes, BodyError> {
    let mut body = BytesMut::with_capacity(framed.len());
    loop {
        let end = framed
            .windows(2)
            .position(|pair| pair == b"\r\n")
            .ok_or(BodyError::Framing)?;
        let line = std::str::from_utf8(&framed[..end]).map_err(|_| BodyError::Framing)?;
        let length = line.split(';').next().unwrap_or(line);
        let length = usize::from_str_radix(length, 16).map_err(|_| BodyError::Framing)?;
        framed.advance(end + 2);
        if length == 0 {
            return Ok(body.freeze());
        }
        if framed.len() < length.saturating_add(2) || &framed[length..length + 2] != b"\r\n" {
            return Err(BodyError::Framing);
        }
        body.extend_from_slice(&framed[..length]);
        framed.advance(length + 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_trailers_left_out() {
        let framed =
            "3;chunk-signature=ab\r\nabc\r\n2\r\nde\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n";
        assert_eq!(unframed(Bytes::from(framed)).expect("well framed"), "abcde");
    }

    #[test]
    fn a_truncated_body_is_refused() {
        for framed in [
            "",
            "5\r\nabc",
            "3\r\nabcde\r\n0\r\n",
            "x\r\n",
            "ffffffffffffffff\r\nabc\r\n",
        ] {
            assert!(
                matches!(unframed(Bytes::from(framed)), Err(BodyError::Framing)),
                "{framed:?}"
            );
        }
    }

    #[test]
    fn the_stored_encoding_is_the_document_s() {
        for (sent, stored) in [
            ("aws-chunked", None),
            ("aws-chunked,gzip", Some("gzip")),
            ("gzip", Some("gzip")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(sent));
            remove_chunked_encoding(&mut headers);
            assert_eq!(
                headers
                    .get(CONTENT_ENCODING)
                    .map(|value| value.to_str().expect("ASCII")),
                stored
            );
        }
    }

    #[test]
    fn a_presigned_address_keeps_its_other_parameters() {
        let uri: Uri = "/b/k?X-Amz-Algorithm=A&x-id=GetObject&X-Amz-Signature=00"
            .parse()
            .expect("a URI");
        assert_eq!(
            without_presigning(&uri).expect("presigned"),
            "/b/k?x-id=GetObject"
        );
        let uri: Uri = "/b/k?list-type=2".parse().expect("a URI");
        assert_eq!(without_presigning(&uri), None);
    }
}
