/** What a model wrote, with its code apart. */
import { Copy } from "../notes.js";

/** Text, or what stands between two fences of Markdown. */
interface Piece {
  readonly code: boolean;
  /** Of code, as the fence has it. */
  readonly language: string;
  readonly text: string;
}

/** Takes a text apart at its fences; the last one may still be open. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let lines: string[] = [];
  let fence: { readonly mark: string; readonly language: string } | undefined;
  const end = () => {
    const said = lines.join("\n");
    if (fence || said.trim() !== "") {
      pieces.push({ code: fence !== undefined, language: fence?.language ?? "", text: said });
    }
    lines = [];
  };
  for (const line of text.split("\n")) {
    const [, mark = "", language = ""] = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/.exec(line) ?? [];
    if (!fence && mark !== "") {
      end();
      fence = { mark, language };
    } else if (fence && mark.startsWith(fence.mark) && language === "") {
      end();
      fence = undefined;
    } else lines.push(line);
  }
  end();
  return pieces;
}

/** Nothing of it is taken for HTML. */
export const Prose = ({ text }: { readonly text: string }) => (
  <>
    {piecesOf(text).map(({ code, language, text }, index) =>
      code ? (
        <figure class="code" key={index}>
          <figcaption>
            <span>{language}</span>
            <Copy text={text} />
          </figcaption>
          <pre>
            <code>{text}</code>
          </pre>
        </figure>
      ) : (
        <p class="prose" key={index}>
          {inlineCode(text)}
        </p>
      ),
    )}
  </>
);

const inlineCode = (text: string) =>
  text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, index) => {
    if (/^`.+`$/.test(part)) return <code key={index}>{part.slice(1, -1)}</code>;
    if (/^\*\*.+\*\*$/.test(part)) return <strong key={index}>{part.slice(2, -2)}</strong>;
    return part;
  });
