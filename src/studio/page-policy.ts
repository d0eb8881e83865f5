/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-4iP7RaobjRBFAXnAE80lXav5P1361y3F091u2hyWsfg='; style-src 'sha256-fqTrzaWSsofnwcVvjHmwrJr0rdozPXw5pQYl8lQygh8='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
