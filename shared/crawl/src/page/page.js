
"use strict";
{
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  dark.addEventListener("change", name);
  name();
  theme.hidden = false;

  const copy = document.getElementById("copy");
  const said = document.getElementById("said");
  copy.addEventListener("click", async () => {
    const json = document.getElementById("data").textContent;
    try {
      await navigator.clipboard.writeText(json);
      said.textContent = "Copied.";
    } catch {
      // Without the permission: a text to copy by hand.
      const area = document.createElement("textarea");
      Object.assign(area, { value: json, readOnly: true, rows: 6, ariaLabel: "The data as JSON" });
      said.replaceWith(area);
      area.select();
    }
  });
  copy.hidden = false;
  for (const details of document.querySelectorAll("details")) {
    addEventListener("beforeprint", () => { details.dataset.was = details.open; details.open = true; });
    addEventListener("afterprint", () => { details.open = details.dataset.was === "true"; });
  }
}
