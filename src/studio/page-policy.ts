/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-xRwW2vbGmBApFBB0ZC4ptu0B0DNlrDfOdDbDDE7j73k='; style-src 'sha256-VbcENvJxqWVlMwK6aOSNX40hsAzBrnTKQ1YbJPnwxhQ='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
