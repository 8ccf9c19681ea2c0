"""What was measured -> something to look at: a page, tables, CSV.

`contents` gathers the figures once; `page`, `text` and `csv_table` show the same ones.
"""
