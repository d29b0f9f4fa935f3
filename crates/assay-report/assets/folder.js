// Searches the pages of a folder, and follows links by keys. Without it every page is whole.
"use strict";
(() => {
  const form = document.getElementById("find");
  addEventListener("keydown", (event) => {
    const isTyped = event.target.closest?.("input, select, textarea");
    if (isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    const rel = { "/": "search", u: "up", p: "prev", n: "next" }[event.key];
    const link = rel && document.querySelector(`nav a[rel="${rel}"]`);
    if (!link) return;
    event.preventDefault();
    if (rel === "search" && form) form.elements.q.focus();
    else link.click();
  });
  if (!form) return;
  const MOST = 50;
  const hits = document.getElementById("hits");
  const lines = document.getElementById("pages").textContent.split("\n").filter(Boolean);
  const pages = lines.map((line) => {
    const [path, words] = line.split("\t");
    return { path, words, text: line.toLowerCase() };
  });
  const item = ({ path, words }) => {
    const [item, link] = ["li", "a"].map((name) => document.createElement(name));
    link.href = `${path}.html`;
    link.textContent = words ? `${path}: ${words}` : path;
    item.append(link);
    return item;
  };
  const show = () => {
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? pages.filter(({ text }) => words.every((word) => text.includes(word))) : [];
    hits.replaceChildren(...found.slice(0, MOST).map(item));
    const first = found.length > MOST ? `, the first ${MOST} of them below` : "";
    form.elements.found.value = words.length ? `${found.length} of ${pages.length} pages${first}` : "";
  };
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    hits.querySelector("a")?.click();
  });
  if (location.hash === "#find") form.elements.q.focus();
  show();
})();
