//! The ids that are made of keys.

use proptest::prelude::*;

use super::super::*;

fn keyed(types: &[KeyType]) -> Vec<KeyAttribute> {
    let names = ["pk", "sk"].into_iter();
    let attributes = names.zip(types).map(|(name, key_type)| KeyAttribute {
        name: name.to_owned(),
        key_type: *key_type,
    });
    attributes.collect()
}

#[test]
fn what_no_key_can_be_is_no_id() {
    let one = keyed(&[KeyType::Text]);
    let two = keyed(&[KeyType::Text, KeyType::Number]);
    for id in ["", "x", "@", "@a/b", "@a%2fb", "@a%41", "@%ff", "@a%"] {
        assert_eq!(key::parse(id, &one), None, "{id}");
    }
    assert!(key::parse(&format!("@{}", "x".repeat(2_048)), &one).is_some());
    assert!(key::parse(&format!("@{}", "x".repeat(2_049)), &one).is_none());
    for number in [
        "", "-", ".", "1.", "+1", "1e", "1e126", "1e-200", "0x1", " 1", "1_0",
    ] {
        assert_eq!(key::parse(&format!("@a/{number}"), &two), None, "{number}");
    }
    let digits = "9".repeat(38);
    for number in ["0", "-1.5", "1E+20", "1767323045", digits.as_str()] {
        assert!(
            key::parse(&format!("@a/{number}"), &two).is_some(),
            "{number}"
        );
    }
    assert!(key::parse(&format!("@a/{digits}9"), &two).is_none());
}

#[test]
fn the_spellings_of_a_number_are_one_value() {
    let canonical = |text: &str| KeyValue::Number(text.to_owned()).canonical();
    for [a, b] in [
        ["7", "7.0"],
        ["7", "007"],
        ["-7", "-70e-1"],
        ["100", "1E+2"],
        ["0.05", "5E-2"],
        ["0", "-0.00"],
    ] {
        assert_eq!(canonical(a), canonical(b), "{a} {b}");
    }
    for [a, b] in [["7", "-7"], ["7", "70"], ["0.5", "0.05"], ["1", "0"]] {
        assert_ne!(canonical(a), canonical(b), "{a} {b}");
    }
    let text = KeyValue::Text("7.0".to_owned());
    assert_eq!(text.clone().canonical(), text);
}

fn values() -> impl Strategy<Value = KeyValue> {
    prop_oneof![
        prop_oneof![".{1,40}", "[/%@~#a]{1,6}"].prop_map(KeyValue::Text),
        (any::<i64>(), 0_u32..9).prop_map(|(whole, fraction)| KeyValue::Number(match fraction {
            0 => whole.to_string(),
            _ => format!("{whole}.{fraction}"),
        })),
        prop::collection::vec(any::<u8>(), 1..40).prop_map(KeyValue::Binary),
    ]
}

proptest! {
    #[test]
    fn a_key_is_found_again_in_its_id(key in prop::collection::vec(values(), 1..3)) {
        let types: Vec<KeyType> = key.iter().map(KeyValue::key_type).collect();
        let id = key::id(&key);
        prop_assert!(id.starts_with(SOURCE_MARK));
        prop_assert_eq!(key::parse(&id, &keyed(&types)), Some(key));
    }

    #[test]
    fn a_text_that_is_an_id_is_the_id_of_its_key(text in "@[a%/2F~#0-9é-]{0,12}") {
        for types in [vec![KeyType::Text], vec![KeyType::Text; 2], vec![KeyType::Binary, KeyType::Number]] {
            if let Some(key) = key::parse(&text, &keyed(&types)) {
                prop_assert_eq!(key::id(&key), text.clone());
            }
        }
    }
}
