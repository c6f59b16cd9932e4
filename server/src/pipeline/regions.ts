// Names of regions, as city files without codes have them, to ISO 3166-2 codes. Only countries whose regions
// people filter by most; other regions are unknown unless the file has codes.

const REGIONS: Record<string, Record<string, string>> = {
  US: {
    Alabama: 'AL', Alaska: 'AK', Arizona: 'AZ', Arkansas: 'AR', California: 'CA', Colorado: 'CO',
    Connecticut: 'CT', Delaware: 'DE', 'District of Columbia': 'DC', Florida: 'FL', Georgia: 'GA',
    Hawaii: 'HI', Idaho: 'ID', Illinois: 'IL', Indiana: 'IN', Iowa: 'IA', Kansas: 'KS', Kentucky: 'KY',
    Louisiana: 'LA', Maine: 'ME', Maryland: 'MD', Massachusetts: 'MA', Michigan: 'MI', Minnesota: 'MN',
    Mississippi: 'MS', Missouri: 'MO', Montana: 'MT', Nebraska: 'NE', Nevada: 'NV', 'New Hampshire': 'NH',
    'New Jersey': 'NJ', 'New Mexico': 'NM', 'New York': 'NY', 'North Carolina': 'NC', 'North Dakota': 'ND',
    Ohio: 'OH', Oklahoma: 'OK', Oregon: 'OR', Pennsylvania: 'PA', 'Rhode Island': 'RI',
    'South Carolina': 'SC', 'South Dakota': 'SD', Tennessee: 'TN', Texas: 'TX', Utah: 'UT', Vermont: 'VT',
    Virginia: 'VA', Washington: 'WA', 'West Virginia': 'WV', Wisconsin: 'WI', Wyoming: 'WY',
  },
  CA: {
    Alberta: 'AB', 'British Columbia': 'BC', Manitoba: 'MB', 'New Brunswick': 'NB',
    'Newfoundland and Labrador': 'NL', 'Northwest Territories': 'NT', 'Nova Scotia': 'NS', Nunavut: 'NU',
    Ontario: 'ON', 'Prince Edward Island': 'PE', Quebec: 'QC', Saskatchewan: 'SK', Yukon: 'YT',
  },
  AU: {
    'Australian Capital Territory': 'ACT', 'New South Wales': 'NSW', 'Northern Territory': 'NT',
    Queensland: 'QLD', 'South Australia': 'SA', Tasmania: 'TAS', Victoria: 'VIC', 'Western Australia': 'WA',
  },
  DE: {
    'Baden-Wurttemberg': 'BW', 'Baden-Württemberg': 'BW', Bavaria: 'BY', Berlin: 'BE', Brandenburg: 'BB',
    Bremen: 'HB', Hamburg: 'HH', Hesse: 'HE', 'Lower Saxony': 'NI', 'Mecklenburg-Vorpommern': 'MV',
    'North Rhine-Westphalia': 'NW', 'Rhineland-Palatinate': 'RP', Saarland: 'SL', Saxony: 'SN',
    'Saxony-Anhalt': 'ST', 'Schleswig-Holstein': 'SH', Thuringia: 'TH',
  },
  GB: { England: 'ENG', 'Northern Ireland': 'NIR', Scotland: 'SCT', Wales: 'WLS' },
};

/** Undefined when the name is not in the table. */
export function regionCode(country: string, name: string): string | undefined {
  return REGIONS[country]?.[name];
}
