import * as v from 'valibot'

/** Makes the schema of a data URL, which is converted to the media type and base64 data of a part. */
export function dataUrl(pattern = /^data:[^;,]+;base64,/) {
  return v.pipe(
    v.string(),
    v.regex(pattern, 'must be a base64 data: URL.'),
    v.transform((url) => {
      const [mediaType = '', data = ''] = url.slice('data:'.length).split(';base64,')
      return { mediaType, data }
    }),
  )
}

/** The content of a file without its type: its data, or where it is. */
export type FileSource = { readonly mediaType: string } & ({ readonly data: string } | { readonly url: string })

/** Parses the URL of a file: an `https` URL, or a base64 data URL. Undefined for any other. */
export function fileSource(url: string, mediaType: string): FileSource | undefined {
  const [, type = mediaType, data] = /^data:([^;,]+)?[^,]*;base64,(.*)$/s.exec(url) ?? []
  if (data !== undefined) return { mediaType: type, data }
  return /^https:\/\/[^/]/i.test(url) && URL.canParse(url) ? { mediaType, url } : undefined
}

/** Makes the schema of the URL of a file, whose media type is `mediaType` unless a data URL says it. */
export function fileUrl(mediaType: string) {
  const isImage = mediaType.startsWith('image/')
  const pattern = isImage ? /^(?:https:\/\/[^/]|data:image\/[^,]*;base64,)/ : /^(?:https:\/\/[^/]|data:[^,]*;base64,)/
  return v.pipe(
    v.string(),
    v.regex(pattern, 'must be an https: URL or a base64 data: URL.'),
    v.transform((url): FileSource => fileSource(url, mediaType) ?? { mediaType, url }),
  )
}
