/** What may be wider than the page. */
import type { ComponentChildren } from "preact";

/** Scrolls by itself, also by the keys of who has no mouse. */
export const Scrolls = ({ children }: { readonly children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
  <div class="scrolls" tabIndex={0}>
    {children}
  </div>
);
