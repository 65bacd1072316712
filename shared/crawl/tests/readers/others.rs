//! The logs of AWS.

use crawl::forms::{Form, Unread};
use crawl::request::Request;

use crate::combined::owned;

fn read(form: &Form, line: &str) -> Result<Request<'static>, Unread> {
    let mut reader = form.reader();
    let request = reader.read(line.as_bytes())?;
    Ok(owned(request.expect("a request")))
}

fn row(agent: &str, query: &str, status: &str) -> String {
    format!(
        "2026-11-27\t23:42:03\tFRA56-P4\t1045\t2001:db8::1\tGET\td111111abcdef8.cloudfront.net\t/a/b.html\t{status}\t-\t{agent}\t{query}\t-\tHit\txyz==\twww.example.com\thttps\t23\t0.001\t-\tTLSv1.3\tTLS_AES_128_GCM_SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001\tHit\ttext/html;%20charset=utf-8\t78\t-\t-"
    )
}

#[test]
fn cloudfront() {
    let request = read(
        &Form::CloudFront,
        &row("GPTBot/1.0%20(x;%20+y)", "q=1", "200"),
    );
    let request = request.expect("a request");
    assert_eq!(request.time, 1_795_822_923);
    assert_eq!(
        request.client,
        Some("2001:db8::1".parse().expect("an address"))
    );
    assert_eq!(
        (&*request.method, &*request.target),
        (&b"GET"[..], &b"/a/b.html?q=1"[..])
    );
    assert_eq!(request.host.as_deref(), Some(&b"www.example.com"[..]));
    assert_eq!(request.agent.as_deref(), Some(&b"GPTBot/1.0 (x; +y)"[..]));
    assert_eq!((request.status, request.is_cut), (200, false));
    for (agent, decoded) in [
        ("a%2520b", Some("a b")),
        ("a%2520b%2522", Some("a b\"")),
        ("a%252520b", Some("a%20b")),
        ("100%25", Some("100%")),
        ("%zz%", Some("%zz%")),
        ("-", None),
    ] {
        let request = read(&Form::CloudFront, &row(agent, "-", "000")).expect("a request");
        assert_eq!(
            request.agent.as_deref(),
            decoded.map(str::as_bytes),
            "{agent}"
        );
        assert_eq!((&*request.target, request.status), (&b"/a/b.html"[..], 0));
    }
}

#[test]
fn the_names_of_cloudfronts_fields_are_obeyed() {
    let mut reader = Form::CloudFront.reader();
    assert_eq!(reader.read(b"#Version: 1.0"), Ok(None));
    let names = b"#Fields: timestamp(ms)\tcs(User-Agent)\tsc-status\tcs-uri-stem";
    assert_eq!(reader.read(names), Ok(None));
    let request = reader
        .read(b"1795822923123\tx%20y\t304\t/z")
        .map(|read| read.map(owned));
    let request = request.expect("a line").expect("a request");
    assert_eq!((request.time, request.status), (1_795_822_923, 304));
    assert_eq!((&*request.target, request.host), (&b"/z"[..], None));
    assert_eq!(
        reader.read(b"1795822923123\tx%20y\t304"),
        Err(Unread::Shape)
    );
    let whole = format!(
        "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query\n{}\n",
        row("a", "-", "200")
    );
    assert_eq!(Form::detect(whole.as_bytes()), Ok(Form::CloudFront));
    let empty = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes\n";
    assert_eq!(Form::detect(empty.as_bytes()), Ok(Form::CloudFront));
}

#[test]
fn cloudfront_as_json() {
    let line = r#"{"date":"2026-11-27","time":"23:42:03","c-ip":"192.0.2.1","cs-method":"GET","cs(Host)":"d1.cloudfront.net","cs-uri-stem":"/a","sc-status":"200","cs(User-Agent)":"GPTBot/1.0%20x","cs-uri-query":"q=%22","x-host-header":"www.example.com"}"#;
    assert_eq!(Form::detect(line.as_bytes()), Ok(Form::CloudFrontJson));
    let request = read(&Form::CloudFrontJson, line).expect("a request");
    assert_eq!((request.time, request.status), (1_795_822_923, 200));
    assert_eq!(*request.target, *b"/a?q=%22");
    assert_eq!(request.host.as_deref(), Some(&b"www.example.com"[..]));
    assert_eq!(request.agent.as_deref(), Some(&b"GPTBot/1.0 x"[..]));
    let few = r#"{"timestamp(ms)":"1795822923999","cs-uri-stem":"/a","sc-status":200}"#;
    let request = read(&Form::CloudFrontJson, few).expect("a request");
    assert_eq!(
        (request.time, request.status, request.host),
        (1_795_822_923, 200, None)
    );
    let none = r#"{"cs-uri-stem":"/a","sc-status":200}"#;
    assert_eq!(read(&Form::CloudFrontJson, none), Err(Unread::Time));
}

const ALB: &str = r#"https 2026-11-27T23:42:03.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.0.2.1:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a?b HTTP/1.1" "GPTBot/1.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 1 2026-11-27T23:42:02.000000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-""#;

#[test]
fn load_balancers() {
    let classic = r#"2026-11-27T23:42:03.945958Z my-loadbalancer 192.0.2.1:39817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "GET https://www.example.com:443/a?b HTTP/1.1" "GPTBot/1.0" - -"#;
    for line in [ALB, classic] {
        let request = read(&Form::Alb, line).expect("a request");
        assert_eq!((request.time, request.status), (1_795_822_923, 200));
        assert_eq!(
            request.client,
            Some("192.0.2.1".parse().expect("an address"))
        );
        assert_eq!(*request.target, *b"https://www.example.com:443/a?b");
        assert_eq!(request.agent.as_deref(), Some(&b"GPTBot/1.0"[..]));
        assert_eq!(Form::detect(line.as_bytes()), Ok(Form::Alb));
    }
    for client in ["2001:db8::1:2817", "[2001:db8::1]:2817"] {
        let line = ALB.replace("192.0.2.1:2817", client);
        let client = read(&Form::Alb, &line).expect("a request").client;
        assert_eq!(client, Some("2001:db8::1".parse().expect("an address")));
    }
    let quotes = ALB.replace("GPTBot/1.0", "My\"Bot\\");
    let agent = read(&Form::Alb, &quotes).expect("a request").agent;
    assert_eq!(agent.as_deref(), Some(&b"My\"Bot\\"[..]));
    let gone = ALB.replace(" 200 200 ", " 460 - ");
    assert_eq!(
        read(&Form::Alb, &gone).map(|request| request.status),
        Ok(460)
    );
    let unread = ALB.replace(
        "GET https://www.example.com:443/a?b HTTP/1.1",
        "- http://www.example.com:80- ",
    );
    assert_eq!(read(&Form::Alb, &unread), Err(Unread::NoRequest));
    assert_eq!(
        read(&Form::Alb, ALB.split("Bot/").next().expect("a begin")),
        Err(Unread::Cut)
    );
}

const S3: &str = r#"79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be www.example.com [27/Nov/2026:23:42:03 +0000] 192.0.2.1 - 3E57427F3EXAMPLE WEBSITE.GET.OBJECT index.html "GET /?b HTTP/1.1" 200 - 113 113 7 6 "-" "GPTBot/1.0" - s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= - - - www.example.com - - -"#;

#[test]
fn s3() {
    let request = read(&Form::S3, S3).expect("a request");
    assert_eq!((request.time, request.status), (1_795_822_923, 200));
    assert_eq!(
        request.client,
        Some("192.0.2.1".parse().expect("an address"))
    );
    assert_eq!(
        (&*request.method, &*request.target),
        (&b"GET"[..], &b"/?b"[..])
    );
    assert_eq!(request.host.as_deref(), Some(&b"www.example.com"[..]));
    assert_eq!(request.agent.as_deref(), Some(&b"GPTBot/1.0"[..]));
    assert_eq!(Form::detect(S3.as_bytes()), Ok(Form::S3));
    let behind = S3.replace("GPTBot/1.0", "Amazon CloudFront");
    assert_eq!(read(&Form::S3, &behind), Err(Unread::BehindCloudFront));
    assert_eq!(Form::detect(behind.as_bytes()), Ok(Form::S3));
    let task = r#"79a5 www.example.com [27/Nov/2026:23:42:03 +0000] - AmazonS3 3E57427F3EXAMPLE S3.EXPIRE.OBJECT a/b "-" - - - 12 - - "-" "-" - x= - - - - - - -"#;
    assert_eq!(read(&Form::S3, task), Err(Unread::NoRequest));
    let old = S3.split(" s9lz").next().expect("a begin");
    assert_eq!(read(&Form::S3, old).expect("a request").host, None);
}
