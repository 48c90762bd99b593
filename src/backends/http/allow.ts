/** Entries of the lists of where images may be fetched from. */

/**
 * An entry of an allow list: `cdn.example.com` (over https at its usual port),
 * `*.example.com` (every name below it), or a whole origin such as
 * `http://10.0.0.5:9000`, which may be private, since the operator named it.
 */
export const allowPattern =
  /^(?:https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?|(?:\*\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)$/;
