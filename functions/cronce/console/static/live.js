// A page that is being used is not changed under the hands of whoever uses it: no refresh while
// the keyboard is in the part that would be replaced, while text is selected, or out of sight.
document.addEventListener("htmx:beforeRequest", (event) => {
  const live = event.target.closest("#live");
  if (!live) return;
  const held = document.activeElement !== document.body && live.contains(document.activeElement);
  const selecting = !document.getSelection().isCollapsed;
  if (held || selecting || document.hidden) event.preventDefault();
});
