/** What the code says in the log is on the page that explains it, and the page explains nothing else. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => {
    const text = readFileSync(join(root, "src", name), "utf8");
    return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  });

/** A node with all that is within. */
function* within(node: ts.Node): Generator<ts.Node> {
  const open = [node];
  for (let next = open.pop(); next; next = open.pop()) {
    yield next;
    ts.forEachChild(next, (child) => void open.push(child));
  }
}

/** A text that the code writes; `…` stands for what only a run tells. */
type Words = string;

/** What an expression can be; `undefined` where that can't be read off the code. */
function wordsOf(node: ts.Expression): (Words | undefined)[] {
  if (ts.isParenthesizedExpression(node)) return wordsOf(node.expression);
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) {
    return [node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("")];
  }
  if (ts.isConditionalExpression(node)) {
    return [...wordsOf(node.whenTrue), ...wordsOf(node.whenFalse)];
  }
  if (ts.isIdentifier(node)) return declared(node);
  if (ts.isPropertyAccessExpression(node)) {
    const values = [...within(node.getSourceFile())]
      .filter(ts.isPropertyAssignment)
      .filter(({ name }) => name.getText() === node.name.text);
    return values.length > 0 ? values.flatMap((it) => wordsOf(it.initializer)) : [undefined];
  }
  return [undefined];
}

/** What a name stands for: a constant of the file, or what a method of it is given. */
function declared(name: ts.Identifier): (Words | undefined)[] {
  const inFile = [...within(name.getSourceFile())];
  const constant = inFile
    .filter(ts.isVariableDeclaration)
    .find((it) => it.name.getText() === name.text)?.initializer;
  if (constant) return wordsOf(constant);
  let around: ts.Node = name;
  while (around.parent && !ts.isMethodDeclaration(around)) around = around.parent;
  if (!ts.isMethodDeclaration(around)) return [undefined];
  const method = around.name.getText();
  const place = around.parameters.findIndex((it) => it.name.getText() === name.text);
  const given = inFile
    .filter(ts.isCallExpression)
    .filter(({ expression: it }) => ts.isPropertyAccessExpression(it) && it.name.text === method)
    .map((call) => call.arguments[place]);
  return given.flatMap((it) => (it ? wordsOf(it) : [undefined]));
}

/** Each call of a logger, and what it says. */
function logged(levels: RegExp) {
  return files.flatMap((file) =>
    [...within(file)].filter(ts.isCallExpression).flatMap((call) => {
      const { expression: asked, arguments: given } = call;
      // The level of some is what a function says: one of those that are looked for.
      const isSaid =
        ts.isElementAccessExpression(asked) && ts.isCallExpression(asked.argumentExpression);
      if (!isSaid && !(ts.isPropertyAccessExpression(asked) && levels.test(asked.name.text))) {
        return [];
      }
      if (!/(^|[.#])log$/i.test(asked.expression.getText())) return [];
      const line = file.getLineAndCharacterOfPosition(call.getStart()).line + 1;
      const words = given[1] ? wordsOf(given[1]) : [undefined];
      return words.map((said) => ({ where: `${file.fileName}:${line}`, said }));
    }),
  );
}

const page = readFileSync(join(root, "docs/observability.md"), "utf8");
const [, section = ""] = /\n### Lines to know\n(.*?)\n## /s.exec(page) ?? [];
/** The first column of its tables. */
const told = [...section.matchAll(/^\| (?!`msg`)(`.*?) \| /gm)].flatMap(([, cell = ""]) =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, words = ""]) => words),
);

it("each line of the log is on the page", () => {
  const all = logged(/^(info|warn|error|fatal)$/);
  expect(all.length).toBeGreaterThan(80);
  expect(all.filter(({ said }) => said === undefined)).toEqual([]);
  // Each call's line has a section of its own.
  expect(all.filter(({ said = "" }) => said !== "call" && !told.includes(said))).toEqual([]);
});

it("the page has no line that is none", () => {
  const said = new Set(logged(/^(trace|debug|info|warn|error|fatal)$/).map((it) => it.said));
  // It is written past the logger, which could not be.
  said.add("lines of the log are lost here: it could not be written");
  expect(told.length).toBeGreaterThan(80);
  expect(told.filter((words) => !said.has(words))).toEqual([]);
});
