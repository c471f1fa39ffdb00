//! redis-rs by TLS, as a user with limited rights (tls.sh).
//!
//! usage: tls <port> <CA> <another CA> <protocol: 2, 3 or default> <suffix of the test names>
//! Prints `ok - name` and `not ok - name` lines.

use redis::{
    cmd, pipe, Client, Connection, ErrorKind, RedisError, RedisResult, ServerErrorKind,
    TlsCertificates,
};
use std::{collections::HashSet, env, fs, panic, process, time::Duration};

struct Given {
    port: u16,
    ca: String,
    other_ca: String,
    protocol: String,
}

fn connect(given: &Given, password: &str, authority: &str) -> RedisResult<Connection> {
    let protocol = match given.protocol.as_str() {
        "2" => "?protocol=resp2",
        "3" => "?protocol=resp3",
        _ => "",
    };
    let info = format!(
        "rediss://app:{password}@localhost:{}/{protocol}",
        given.port
    );
    let certificates = TlsCertificates {
        client_tls: None,
        root_cert: Some(fs::read(authority).unwrap()),
    };
    let connection = Client::build_with_tls(info, certificates)?.get_connection()?;
    connection.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(connection)
}

fn refused<T>(kind: ErrorKind, reply: RedisResult<T>) -> RedisError {
    let error = reply.err().expect("it was not refused");
    assert_eq!(error.kind(), kind, "{error}");
    error
}

const DENIED: ErrorKind = ErrorKind::Server(ServerErrorKind::NoPerm);

fn is_who_he_says(given: &Given, r: &mut Connection) {
    assert_eq!(cmd("PING").query::<String>(r).unwrap(), "PONG");
    assert_eq!(cmd("ACL").arg("WHOAMI").query::<String>(r).unwrap(), "app");
    let info: String = cmd("CLIENT").arg("INFO").query(r).unwrap();
    let resp = if given.protocol == "3" {
        " resp=3 "
    } else {
        " resp=2 "
    };
    assert!(info.contains(resp) && info.contains(" user=app "), "{info}");
}

fn sets_and_gets(_: &Given, r: &mut Connection) {
    cmd("SET").arg("app:plain").arg("text").exec(r).unwrap();
    assert_eq!(
        cmd("GET").arg("app:plain").query::<String>(r).unwrap(),
        "text"
    );
    let stamp: String = cmd("KV.SET")
        .arg(r#"["app",1]"#)
        .arg(r#"{"n":1}"#)
        .query(r)
        .unwrap();
    let found: (String, String) = cmd("KV.GET")
        .arg(r#"["app",1]"#)
        .arg("WITHVERSION")
        .query(r)
        .unwrap();
    assert_eq!(found, (r#"{"n":1}"#.to_string(), stamp));
}

fn pipelines_a_thousand(_: &Given, r: &mut Connection) {
    let (mut set, mut get) = (pipe(), pipe());
    for n in 0..1000 {
        let key = format!(r#"["app","pipe",{n}]"#);
        set.cmd("KV.SET").arg(&key).arg(n);
        get.cmd("KV.GET").arg(&key);
    }
    let stamps: Vec<String> = set.query(r).unwrap();
    assert_eq!(stamps.iter().collect::<HashSet<_>>().len(), 1000);
    assert!(stamps.is_sorted());
    assert_eq!(
        get.query::<Vec<i32>>(r).unwrap(),
        (0..1000).collect::<Vec<_>>()
    );
}

fn has_transactions(_: &Given, r: &mut Connection) {
    let (done, stamp, value): (String, String, String) = pipe()
        .atomic()
        .cmd("SET")
        .arg("app:a")
        .arg("1")
        .cmd("KV.SET")
        .arg(r#"["app","b"]"#)
        .arg(2)
        .cmd("GET")
        .arg("app:a")
        .query(r)
        .unwrap();
    assert_eq!(
        (done.as_str(), stamp.len(), value.as_str()),
        ("OK", 20, "1")
    );
}

fn publishes_and_hears(given: &Given, r: &mut Connection) {
    let mut other = connect(given, "secret", &given.ca).unwrap();
    let mut listener = other.as_pubsub();
    listener.subscribe("app:news").unwrap();
    let heard: i32 = cmd("PUBLISH")
        .arg("app:news")
        .arg("hello")
        .query(r)
        .unwrap();
    assert_eq!(heard, 1);
    let message = listener.get_message().unwrap();
    assert_eq!(message.get_payload::<String>().unwrap(), "hello");
    refused(DENIED, cmd("PUBLISH").arg("news").arg("hello").exec(r));
    // Of the listener, subscribe() does not look at what it is answered.
    refused(DENIED, cmd("SUBSCRIBE").arg("news").exec(r));
}

fn may_not_use_what_is_not_his(_: &Given, r: &mut Connection) {
    refused(DENIED, cmd("GET").arg("other").exec(r));
    refused(DENIED, cmd("KV.SET").arg(r#"["other",1]"#).arg(1).exec(r));
    let mut two = cmd("KV.ATOMIC");
    two.arg("SET")
        .arg(r#"["app",1]"#)
        .arg(1)
        .arg("DEL")
        .arg(r#"["other"]"#);
    refused(DENIED, two.exec(r));
    refused(DENIED, cmd("CONFIG").arg("GET").arg("*").exec(r));
    cmd("PING").exec(r).unwrap();
}

fn needs_his_password(given: &Given, _: &mut Connection) {
    let reply = connect(given, "wrong", &given.ca);
    if given.protocol == "3" {
        assert_eq!(
            refused(ErrorKind::Extension, reply).code(),
            Some("WRONGPASS")
        );
    } else {
        refused(ErrorKind::AuthenticationFailed, reply);
    }
}

fn refuses_a_server_of_another_authority(given: &Given, _: &mut Connection) {
    let error = refused(ErrorKind::Io, connect(given, "secret", &given.other_ca));
    assert!(error.to_string().contains("certificate"), "{error}");
}

fn main() {
    let words: Vec<String> = env::args().collect();
    let given = Given {
        port: words[1].parse().unwrap(),
        ca: words[2].clone(),
        other_ca: words[3].clone(),
        protocol: words[4].clone(),
    };
    let mut failed = 0;
    let mut r = connect(&given, "secret", &given.ca).unwrap();
    let tests: [(&str, fn(&Given, &mut Connection)); 8] = [
        ("is who he says", is_who_he_says),
        ("sets and gets", sets_and_gets),
        ("pipelines a thousand", pipelines_a_thousand),
        ("has transactions", has_transactions),
        ("publishes and hears", publishes_and_hears),
        ("may not use what is not his", may_not_use_what_is_not_his),
        ("needs his password", needs_his_password),
        (
            "refuses a server of another authority",
            refuses_a_server_of_another_authority,
        ),
    ];
    for (name, test) in tests {
        let run = panic::AssertUnwindSafe(|| test(&given, &mut r));
        let word = if panic::catch_unwind(run).is_ok() {
            "ok"
        } else {
            "not ok"
        };
        println!("{word} - redis-rs by TLS {name} ({})", words[5]);
        failed |= i32::from(word != "ok");
    }
    process::exit(failed);
}
