//! Parquet of a table: one group of rows, compressed with Snappy.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::table::{Column, Kind, Table, Value};

/// A table cannot be written as Parquet.
#[derive(Debug, thiserror::Error)]
#[error("cannot write table `{table}` as Parquet: {source}")]
pub struct Error {
    /// The table.
    pub table: &'static str,
    source: ParquetError,
}

impl Table {
    /// Its rows as a Parquet file. The same rows give the same bytes.
    pub fn parquet(&self) -> Result<Vec<u8>, Error> {
        self.written().map_err(|source| Error { table: self.name, source })
    }

    fn written(&self) -> Result<Vec<u8>, ParquetError> {
        let fields = self.columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder(self.name).with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("assay ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let (schema, properties) = (Arc::new(schema), Arc::new(properties));
        let mut file = SerializedFileWriter::new(Vec::new(), schema, properties)?;
        let mut group = file.next_row_group()?;
        let mut number = 0;
        while let Some(mut writer) = group.next_column()? {
            let kind = self.columns.get(number).map_or(Kind::Text, |column| column.kind);
            let values = self.rows.iter().map(|row| row.get(number).unwrap_or(&Value::Null));
            write(&mut writer, kind, values)?;
            writer.close()?;
            number += 1;
        }
        group.close()?;
        file.into_inner()
    }
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Integer => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Boolean => (Physical::BOOLEAN, None),
        Kind::Moment => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
    };
    let builder = Type::primitive_type_builder(column.name, physical);
    Ok(Arc::new(builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?))
}

fn write<'a>(
    writer: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    values: impl Iterator<Item = &'a Value>,
) -> Result<(), ParquetError> {
    match kind {
        Kind::Text => column::<ByteArrayType>(writer, values, |value| match value {
            Value::Text(text) => Some(ByteArray::from(text.as_str())),
            _ => None,
        }),
        Kind::Integer | Kind::Moment => column::<Int64Type>(writer, values, |value| match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        }),
        Kind::Real => column::<DoubleType>(writer, values, |value| match value {
            Value::Real(number) => Some(*number),
            _ => None,
        }),
        Kind::Boolean => column::<BoolType>(writer, values, |value| match value {
            Value::Boolean(is) => Some(*is),
            _ => None,
        }),
    }
}

/// Writes the values of a column; those of another type are nulls.
fn column<'a, T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = &'a Value>,
    of: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = values.map(of).collect();
    let is_there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, Some(&is_there), None)?;
    Ok(())
}
