/** Signatures of what is sent to webhooks. */
import { expect, test } from "vitest";
import { signing } from "../../src/backends/http/webhook-signature.js";

// The example of Svix, who wrote down the standard, for those who verify by themselves.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const body = '{"test": 2432232314}';
const signed = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

test("a body is signed with its id and the second in which it is sent", () => {
  const headers = signing([secret], () => 1_614_265_330_999)?.(body, id);
  expect(headers).toEqual({
    "webhook-id": id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": signed,
  });
});

test("each secret signs", () => {
  const other = `whsec_${Buffer.alloc(32).toString("base64")}`;
  const headers = signing([other, secret], () => 1_614_265_330_000)?.(body, id);
  expect(headers?.["webhook-signature"]).toMatch(/^v1,\S+ v1,\S+$/);
  expect(headers?.["webhook-signature"]?.split(" ")[1]).toBe(signed);
});

test("each message has a name of its own, without a dot, which parts what is signed", () => {
  const sign = signing([secret]);
  const ids = [1, 2].map(() => sign?.(body)["webhook-id"]);
  expect(ids[0]).toMatch(/^msg_[\w-]{24}$/);
  expect(ids[0]).not.toBe(ids[1]);
});

test("without a secret nothing is signed", () => {
  expect(signing()).toBeUndefined();
  expect(signing([])).toBeUndefined();
});
