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
