/** Descriptions of the sky: the fields that contain them, and Chinese translations of common ones. */

/** Tells whether a field describes the sky in words. */
export function isSky(key: string): boolean {
  return /^(?:summary|conditions?|sky|weather|outlook|天气)$/i.test(key)
}

const SKIES: Readonly<Record<string, string>> = {
  'clear skies': '晴',
  'clear sky': '晴',
  clear: '晴',
  sunny: '晴',
  dry: '无雨',
  'sunny spells': '晴间多云',
  'partly cloudy': '局部多云',
  cloudy: '多云',
  overcast: '阴',
  rain: '雨',
  'light rain': '小雨',
  'heavy rain': '大雨',
  showers: '阵雨',
  drizzle: '毛毛雨',
  thunderstorm: '雷暴',
  thunderstorms: '雷暴',
  snow: '雪',
  'light snow': '小雪',
  'heavy snow': '大雪',
  sleet: '雨夹雪',
  hail: '冰雹',
  fog: '雾',
  mist: '薄雾',
}

/** Formats a description of the sky for the middle of a sentence. */
export function tellSky(words: string, han: boolean): string {
  const small = words.charAt(0).toLowerCase() + words.slice(1)
  return (han && Object.hasOwn(SKIES, small.toLowerCase()) && SKIES[small.toLowerCase()]) || small
}
