// What the theme shows as a symbol alone gets a name for those who don't see it.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    const link = summary.closest("li")?.querySelector("a");
    summary.setAttribute("aria-label", `Pages of ${link ? link.textContent.trim() : "this section"}`);
  }
});
