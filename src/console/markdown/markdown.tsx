/** What a model wrote. Nothing of it is taken for HTML. */
import type { Token, Tokens } from "marked";
import { Component, type ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Copy } from "../notes.js";
import { Scrolls } from "../scrolls.js";
import { blocksOf, Growing } from "./blocks.js";
import { deepest, inline } from "./inline.js";

/** @param more whether it still comes in */
export function Markdown({ text, more }: { readonly text: string; readonly more: boolean }) {
  const growing = useMemo(() => new Growing(), []);
  const tokens = useMemo(
    () => (more ? growing.blocks(text) : blocksOf(text)),
    [growing, text, more],
  );
  return <div class="markdown">{blocks(tokens)}</div>;
}

const blocks = (tokens: readonly Token[] = [], deep = 0): ComponentChildren =>
  deep > deepest ? (
    <p>{tokens.map(({ raw }) => raw).join("")}</p>
  ) : (
    tokens
      .filter(({ type }) => type !== "space" && type !== "def")
      .map((token, index) => <Block key={index} token={token} deep={deep} />)
  );

interface Shown {
  readonly token: Token;
  readonly deep: number;
}

/** Is made anew only where its token is another. */
class Block extends Component<Shown> {
  override shouldComponentUpdate({ token }: Shown): boolean {
    return token !== this.props.token;
  }

  override render({ token, deep }: Shown): ComponentChildren {
    switch (token.type) {
      case "heading": {
        // Below the page's own, and that of the turn.
        const Heading = `h${Math.min(token.depth + 2, 6)}` as "h3";
        return <Heading class={`level${token.depth}`}>{inline(token.tokens)}</Heading>;
      }
      case "paragraph":
        return <p>{inline(token.tokens)}</p>;
      case "code":
        return <Code token={token as Tokens.Code} />;
      case "blockquote":
        return <blockquote>{blocks(token.tokens, deep + 1)}</blockquote>;
      case "list":
        return <List token={token as Tokens.List} deep={deep} />;
      case "table":
        return <Table token={token as Tokens.Table} />;
      case "hr":
        return <hr />;
      case "text":
        return <>{inline([token])}</>;
      case "checkbox":
        return <input type="checkbox" disabled checked={token.checked} aria-label="Done" />;
      default:
        // HTML, too.
        return <p>{token.raw.trim()}</p>;
    }
  }
}

function Code({ token }: { readonly token: Tokens.Code }) {
  const [language = ""] = (token.lang ?? "").split(/\s/, 1);
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        <Copy text={token.text} />
      </figcaption>
      {/* Who has no mouse scrolls it by its focus. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <pre tabIndex={0}>
        <code>{token.text}</code>
      </pre>
    </figure>
  );
}

function List({ token, deep }: { readonly token: Tokens.List; readonly deep: number }) {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {blocks(item.tokens, deep + 1)}
    </li>
  ));
  return token.ordered ? (
    <ol start={token.start === "" ? 1 : token.start}>{items}</ol>
  ) : (
    <ul>{items}</ul>
  );
}

const Table = ({ token }: { readonly token: Tokens.Table }) => (
  <Scrolls>
    <table>
      <thead>
        <tr>
          {token.header.map((cell, index) => (
            <th key={index} class={cell.align ?? undefined}>
              {inline(cell.tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {token.rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, index) => (
              <td key={index} class={cell.align ?? undefined}>
                {inline(cell.tokens)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolls>
);
