/** The Content-Security-Policy of page.html. Written by `npm run studio`. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'sha256-LX1vrZfQsGAjfRRTmGy5M3YCnSofmoxH43Nz/kU0thA='; style-src 'sha256-uS49HXeuGN56cttn+alYbxaFlNTVXYOxqvs/pNAlFX8='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
