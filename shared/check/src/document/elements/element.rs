//! An element with its attributes, text and children.

/// An element with its contents.
#[derive(Debug, Default)]
pub struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
    /// Its offset in the text of the element around it.
    pub(super) at: usize,
}

impl Element {
    /// Returns its name with the usual prefix of its namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its name without a prefix.
    #[must_use]
    pub fn local(&self) -> &str {
        local(&self.name)
    }

    /// Returns its text, without white space around it.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.trim()
    }

    /// Returns its text including that of all elements in it, in their order, as words with a blank between them.
    #[must_use]
    pub fn whole_text(&self) -> String {
        let mut whole = String::new();
        self.add_text(&mut whole);
        let words: Vec<_> = whole.split_ascii_whitespace().collect();
        words.join(" ")
    }

    fn add_text(&self, whole: &mut String) {
        let mut begin = 0;
        for child in &self.children {
            whole.push_str(&self.text[begin..child.at]);
            child.add_text(whole);
            begin = child.at;
        }
        whole.push_str(&self.text[begin..]);
    }

    /// Returns its attributes, except declarations of namespaces, as names with the document's prefixes and values.
    #[must_use]
    pub fn attributes(&self) -> &[(String, String)] {
        &self.attributes
    }

    /// Returns the value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let attribute = self.attributes.iter().find(|(own, _)| own == name);
        attribute.map(|(_, value)| value.trim())
    }

    /// Returns its child elements.
    #[must_use]
    pub fn children(&self) -> &[Self] {
        &self.children
    }

    /// Returns its child elements with this name.
    pub fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the text of its first child element with this name. Returns `None` if there is none, or if it is blank.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let child = self.children.iter().find(|child| child.name == name)?;
        Some(child.text()).filter(|text| !text.is_empty())
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}
