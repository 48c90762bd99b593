/** Keys that nothing but the name before them tells, and those of Azure. */
import { describe, expect, test } from "vitest";
import { kinds } from "../../src/guards/kinds.js";

const { api_key: finder } = kinds;
const foundIn = (text: string) => finder.find(text).map(({ start, end }) => text.slice(start, end));

const hex = "0123456789abcdef0123456789abcdef";
const mixed = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3kL6nP9r";
const aws = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY0123456789";
const storage = `${mixed}+/${mixed}abcd==`;
const queue = `${mixed}abc=`;
const entra = "aB38Q~aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3k";

describe.each([
  [`api-key: ${hex}`, hex],
  [`curl -H "api-key: ${hex}" https://a.openai.azure.com`, hex],
  [`Ocp-Apim-Subscription-Key: ${hex}`, hex],
  [`AZURE_OPENAI_API_KEY="${mixed}${mixed}abc1"`, `${mixed}${mixed}abc1`],
  [`export CO_API_KEY=${mixed}`, mixed],
  [`MISTRAL_API_KEY='${mixed.slice(0, 32)}'`, mixed.slice(0, 32)],
  [`mistral --api-key ${mixed.slice(0, 32)}`, mixed.slice(0, 32)],
  [`Client(apiKey = "${mixed}")`, mixed],
  [`my API key: ${mixed}`, mixed],
  [JSON.stringify(JSON.stringify({ api_key: mixed })), mixed],
  [`aws_secret_access_key = ${aws}`, aws],
  [`AWS_SECRET_ACCESS_KEY=${aws}`, aws],
  [`"SecretAccessKey": "${aws}"`, aws],
  [`secretKey => '${aws}'`, aws],
  [`DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${storage};EndpointSuffix=b`, storage],
  [`SharedAccessKeyName=a;SharedAccessKey=${queue}`, queue],
  [`client_secret=${entra}`, entra],
])("%s", (text, key) => {
  test("has its key found, and not its name", () => {
    expect(foundIn(text)).toEqual([key]);
    expect(foundIn(`Take ${text}, or\n${text}.`)).toEqual([key, key]);
  });

  test("is held back from its name on while more may come", () => {
    const start = text.indexOf(key);
    for (let length = start + 1; length <= start + key.length; length++) {
      const said = text.slice(0, length);
      // What comes later is looked at with what was held back, and no more.
      const held = finder.open(said);
      expect([said, foundIn(text.slice(held))]).toEqual([said, [key]]);
    }
  });
});

test.each([
  "api_key: YOUR_API_KEY_GOES_HERE_AND_NOWHERE_ELSE",
  `api_key = ${"x".repeat(40)}`,
  `api_key: ${"0".repeat(40)}`,
  "api_key = process.env.AZURE_OPENAI_API_KEY_OF_THE_2ND_ACCOUNT",
  `apiKey: ${hex.slice(0, 31)}`,
  `commit ${mixed}, sha1: ${hex}01234567`,
  `the key ${hex} of a row`,
  `keyboard: ${hex}`,
  `aws_secret_access_key = ${aws}a`,
  `aws_secret_access_key = ${"*".repeat(40)}`,
  "AccountKey=<your key>",
  "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
])("%s: nothing is found", (text) => {
  expect(foundIn(text)).toEqual([]);
});

test("a key that has a begin of its own behind a name is found once", () => {
  const google = `AIza${"aB3dE6g".repeat(5)}`;
  expect(foundIn(`api_key=${google}`)).toEqual([google]);
});

test.each([
  ["api_key", hex],
  ["AZURE_OPENAI_API_KEY", `${mixed}${mixed}abc1`],
  ["Ocp-Apim-Subscription-Key", hex],
  ["SecretAccessKey", aws],
  ["accountKey", storage],
])("the value of the member %s is a key", (name, key) => {
  const found = finder.behind(name, key).map(({ start, end }) => key.slice(start, end));
  expect(found).toEqual([key]);
  expect(finder.behind("k".repeat(1000) + name, key)).toHaveLength(1);
  expect(finder.behind(`${name}_id`, key)).toEqual([]);
  expect(finder.behind(name, `of ${key}`)).toEqual([]);
  expect(finder.behind(name, "YOUR_KEY")).toEqual([]);
});
