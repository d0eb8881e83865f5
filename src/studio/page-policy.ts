/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-IZcCMBvy/TPUsvg8LvCqOVbaAj4XG6pneWZjVjUvnUk='; style-src 'sha256-WXuIX+rPK+a1+wv/CnHdy55zmx4cmXUDSznov+mqG78='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
