const units = (text: string, form: (hex: string) => string) =>
  text
    .split('')
    .map((unit) => form(unit.charCodeAt(0).toString(16).padStart(4, '0')))
    .join('')
const quoted = (byte: number) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
export const bytesOf = (text: string) => Buffer.from(text, 'utf8')

/** The forms in which a secret is found, each as what makes it of the secret. */
export const ENCODERS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  json: (text) => JSON.stringify(text).slice(1, -1),
  'json of slashes': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'json of ASCII': (text) => text.replace(/[^\w]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
  url: encodeURIComponent,
  'url in lower case': (text) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
  'url of every byte': (text) => [...bytesOf(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  html: (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
  'html in hexadecimal': (text) => text.replace(/[^\w]/gu, (char) => `&#x${char.codePointAt(0)?.toString(16)};`),
  hex: (text) => bytesOf(text).toString('hex'),
  'hex in upper case': (text) => bytesOf(text).toString('hex').toUpperCase(),
  base64: (text) => bytesOf(text).toString('base64'),
  base64url: (text) => bytesOf(text).toString('base64url'),
  'base64 after one byte': (text) => bytesOf(`x${text}yz`).toString('base64'),
  'base64 after two bytes': (text) => bytesOf(`xx${text}y`).toString('base64'),
  'base64 in lines': (text) =>
    bytesOf(`${'x'.repeat(60)}${text}`)
      .toString('base64')
      .replace(/.{76}/g, '$&\r\n'),
  'base64 of UTF-16': (text) => Buffer.from(text, 'utf16le').toString('base64'),
  'base64 of UTF-16 in the other order': (text) => Buffer.from(text, 'utf16le').swap16().toString('base64'),
  'hex of UTF-16': (text) => Buffer.from(text, 'utf16le').toString('hex'),
  'UTF-16 read as bytes': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
  'url of UTF-16 units': (text) => units(text, (hex) => `%u${hex}`),
  'json of every unit': (text) => units(text, (hex) => `\\u${hex}`),
  'JavaScript of every unit': (text) => units(text, (hex) => `\\u{${hex}}`),
  'JavaScript of Latin letters': (text) => units(text, (hex) => `\\x${hex.slice(2)}`),
  'html of every unit': (text) => units(text, (hex) => `&#${parseInt(hex, 16)};`),
  'html with zeros in front': (text) => units(text, (hex) => `&#x0000${hex};`),
  'html of decimals with zeros in front': (text) =>
    units(text, (hex) => `&#${String(parseInt(hex, 16)).padStart(9, '0')};`),
  'html in capital names': (text) =>
    text.replaceAll('&', '&AMP;').replaceAll('<', '&LT;').replaceAll('"', '&QUOT;').replaceAll("'", '&#39;'),
  'html of other signs': (text) =>
    text.replace(
      /[/+%=\\]/g,
      (char) => ({ '/': '&sol;', '+': '&plus;', '%': '&percnt;', '=': '&equals;' })[char] ?? '&bsol;',
    ),
  'hex with colons': (text) => (bytesOf(text).toString('hex').match(/../g) ?? []).join(':'),
  'hex with spaces': (text) => (bytesOf(text).toString('hex').toUpperCase().match(/../g) ?? []).join(' '),
  'hex in mixed case': (text) =>
    bytesOf(text)
      .toString('hex')
      .replace(/[a-f]/g, (digit: string, at: number) => (at % 3 ? digit : digit.toUpperCase())),
  'html without semicolons': (text) =>
    text.replace(/[^\w](?=(\d?))/gu, (char, digit) => `&#${char.codePointAt(0)}${digit === '' ? '' : ';'}`),
  'html of every unit, without semicolons': (text) => units(text, (hex) => `&#${parseInt(hex, 16)}`),
  'html in hexadecimal, without semicolons': (text) => units(text, (hex) => `&#x${hex}`),
  'quoted-printable': (text) =>
    [...bytesOf(text)]
      .map((byte) => (byte > 32 && byte < 127 && byte !== 61 ? String.fromCharCode(byte) : quoted(byte)))
      .join('')
      .replace(/.{10}/, '$&=\r\n'),
  'quoted-printable of every byte': (text) => [...bytesOf(text)].map(quoted).join(''),
  'octal of every byte': (text) => [...bytesOf(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  'list of bytes': (text) => JSON.stringify(bytesOf(text)).slice(24, -2),
  'list of bytes with spaces': (text) => [...bytesOf(text)].join(', '),
  'list of bytes in lines': (text) =>
    JSON.stringify([...bytesOf(text)], null, 2)
      .slice(1, -1)
      .trim(),
  'base64url inside a text': (text) => bytesOf(`Bearer ${text}, thanks`).toString('base64url'),
}
