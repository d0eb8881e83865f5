/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-Z+20aslsL6mBWDNj3V7+ef3l1BAPiW6dhxEJHqM610s='; style-src 'sha256-VbcENvJxqWVlMwK6aOSNX40hsAzBrnTKQ1YbJPnwxhQ='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
