/* What the theme makes at run time, so that keyboards and screen readers can use it, too. */
const mend = {
  ".md-search": (dialog) => dialog.setAttribute("aria-label", "Search"),
  ".md-code__nav": (buttons) => buttons.setAttribute("role", "none"),
  ".md-typeset__scrollwrap": (table) => table.setAttribute("tabindex", "0"),
};
const mendAll = () => {
  for (const [selector, change] of Object.entries(mend)) {
    document.querySelectorAll(selector).forEach(change);
  }
};
new MutationObserver(mendAll).observe(document.body, { childList: true, subtree: true });
mendAll();
