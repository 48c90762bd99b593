/** What stands within a line of Markdown. */
import type { Token, Tokens } from "marked";
import type { ComponentChildren } from "preact";

/** @param deep how much stands around it */
export const inline = (tokens: readonly Token[] = [], deep = 0): ComponentChildren =>
  deep > deepest
    ? tokens.map(({ raw }) => raw).join("")
    : tokens.map((token, index) => <Piece key={index} token={token} deep={deep} />);

/** How much is shown within each other; what is within that, as it is written. */
export const deepest = 30;

function Piece({
  token,
  deep,
}: {
  readonly token: Token;
  readonly deep: number;
}): ComponentChildren {
  const within = () => inline((token as Tokens.Generic).tokens, deep + 1);
  switch (token.type) {
    case "strong":
      return <strong>{within()}</strong>;
    case "em":
      return <em>{within()}</em>;
    case "del":
      // One tilde alone means "about" more often.
      return token.raw.startsWith("~~") ? <del>{within()}</del> : <>~{within()}~</>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link token={token as Tokens.Link}>{within()}</Link>;
    case "image":
      return <Picture token={token as Tokens.Image} />;
    case "html":
      // Cells of tables have no other break.
      return /^<br\s*\/?>$/i.test(token.raw.trim()) ? <br /> : token.raw;
    case "text":
      return token.tokens ? within() : token.escaped ? token.text : told(token.text);
    case "escape":
    case "formula":
      return token.text;
    default:
      return token.raw;
  }
}

/** One that leads out of the page and takes nothing with it; any other is shown as it is written. */
function Link({
  token,
  children,
}: {
  readonly token: Tokens.Link;
  readonly children: ComponentChildren;
}) {
  const address = addressIn(token.autolink ? token.href : told(token.href));
  if (address === undefined) return <>{token.raw}</>;
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** One that the model wrote itself. What is elsewhere is not loaded: whoever has it would hear of who reads. */
function Picture({ token }: { readonly token: Tokens.Image }) {
  const { href, text, raw } = token;
  if (/^data:image\/(png|jpeg|webp|gif);base64,/i.test(href)) {
    return <img class="shown" src={href} alt={text} />;
  }
  const address = addressIn(told(href));
  if (address === undefined) return <>{raw}</>;
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer">
      Picture: {text === "" ? address : told(text)}
    </a>
  );
}

/** A whole address of a kind that runs nothing. */
function addressIn(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const address = new URL(href);
  return ["http:", "https:", "mailto:"].includes(address.protocol) ? address.href : undefined;
}

/** A text with its character references read. */
const told = (text: string): string =>
  text.replace(/&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/gi, (reference) => {
    const { documentElement } = new DOMParser().parseFromString(reference, "text/html");
    return documentElement.textContent || reference;
  });
