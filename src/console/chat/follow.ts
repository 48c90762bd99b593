/** Keeps the end of a page in sight while more comes in. */
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/**
 * Who scrolls up to read is left there, until they come back to the end.
 * @param within what grows, and is not followed while it is hidden
 * @param grown whatever is another with all that comes
 * @returns begins to follow
 */
export function useFollowing(within: RefObject<HTMLElement | null>, grown: unknown): () => void {
  const following = useRef(true);
  const before = useRef(0);
  const isShown = () => within.current?.offsetParent !== null;
  useEffect(() => {
    const look = () => {
      if (!isShown()) return;
      const below = document.documentElement.scrollHeight - innerHeight - scrollY;
      if (below < nearEnd) following.current = true;
      else if (scrollY < before.current) following.current = false;
      before.current = scrollY;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  useEffect(() => {
    if (following.current && isShown()) scrollTo(0, document.documentElement.scrollHeight);
  }, [grown]);
  return () => {
    following.current = true;
  };
}

/** How far from its end somebody still looks at the end of a page, pixels. */
const nearEnd = 80;
