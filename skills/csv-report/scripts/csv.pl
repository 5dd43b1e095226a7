#!/usr/bin/env perl
# Profiles, groups and filters delimited text. Needs nothing but perl-base.
use strict;
use warnings;
use utf8;
use Getopt::Long qw(GetOptionsFromArray :config no_ignore_case);
use List::Util qw(sum0 max min);

my $USAGE = <<'END';
usage: csv.pl profile FILE [--top N]
       csv.pl group FILE --by COLUMN [--by COLUMN] [--sum COLUMN | --mean COLUMN] [--where CONDITION] [--top N] [--bars]
       csv.pl rows FILE [--where CONDITION] [--columns A,B] [--limit N]

FILE is delimited text with a header line; - reads standard input.
--by COLUMN:N groups by the first N characters of a column.
--where takes COLUMN=VALUE, !=, <, <=, >, >= or ~ (regular expression), and may be repeated.
--delimiter C sets the delimiter (default: found from the header; \t is a tab).
END

my $DISTINCT_MAX = 10_000;
my $NUMBERS_MAX  = 1_000_000;

binmode STDOUT, ':utf8';
binmode STDERR, ':utf8';

my $command = shift @ARGV // '';
if ($command =~ /^(-h|--help|help)$/) { print $USAGE; exit 0 }
my %run = (profile => \&profile, group => \&group, rows => \&rows);
my $action = $run{$command} or usage("unknown command '$command'");

my %option = (top => 10, limit => 20, where => [], by => []);
@ARGV = map { utf8::decode($_); $_ } @ARGV;
{
    local $SIG{__WARN__} = sub { my $text = lcfirst shift; chomp $text; usage($text) };
    GetOptionsFromArray(\@ARGV, \%option, 'help', 'delimiter=s', 'top=i', 'by=s@', 'sum=s', 'mean=s', 'where=s@',
        'bars', 'columns=s', 'limit=i');
}
if ($option{help}) { print $USAGE; exit 0 }
usage('give one file') if @ARGV != 1;
my $file = shift @ARGV;
my $source = open_file($file);
my $first = next_line();
fail("$file is empty") if !defined $first;
my $delimiter = delimiter_of($first);
my @header = split_record($first);
my %index;
for my $i (0 .. $#header) {
    $header[$i] =~ s/^\s+|\s+$//g;
    $index{$header[$i]} //= $i;
}
my @conditions = map { parse_condition($_) } @{ $option{where} };
$action->();

# --- commands ---

sub profile {
    my @columns = map { {
        name => $_, filled => 0, numbers => 0, integers => 0, dates => 0, padded => 0, counts => {}, values => [],
    } } @header;
    my ($rows, $bytes_row, @ragged, @findings) = (0);
    my (%seen, $duplicates, $first_duplicate);
    while (defined(my $record = next_record())) {
        $rows++;
        push @ragged, "$rows (" . @$record . ')' if @$record != @header;
        if ($rows <= $NUMBERS_MAX) {
            my $key = join "\x1f", @$record;
            if (defined $seen{$key}) { $duplicates++; $first_duplicate //= "row $rows repeats row $seen{$key}" }
            else { $seen{$key} = $rows }
        }
        for my $i (0 .. $#columns) { note_value($columns[$i], $record->[$i] // '', $rows) }
    }

    printf "%s: %s rows, %d columns, delimiter %s\n\n", $file, thousands($rows), scalar @header,
        $delimiter eq "\t" ? 'tab' : "\"$delimiter\"";
    print table([qw(column type filled distinct min max mean median)], map { [describe($_, $rows)] } @columns);

    my @top = map { most_frequent($_, $rows) } @columns;
    print "\nfrequent values\n", map { "  $_\n" } @top if @top;

    push @findings, 'ragged rows (fields): ' . listing(\@ragged) . "; the header has " . @header . ' fields' if @ragged;
    push @findings, amount($duplicates, 'duplicate row') . ", for example $first_duplicate" if $duplicates;
    my %names;
    $names{$_}++ for @header;
    push @findings, "the column name '$_' is used $names{$_} times" for grep { $names{$_} > 1 } sort keys %names;
    push @findings, map { findings_of($_, $rows) } @columns;
    print "\nfindings\n", @findings ? map { "  - $_\n" } @findings : "  none\n";
}

sub group {
    my @keys = map { parse_key($_) } @{ $option{by} };
    usage('group needs --by COLUMN')     if !@keys;
    usage('give either --sum or --mean') if defined $option{sum} && defined $option{mean};
    my $measure = $option{sum} // $option{mean};
    my $column = defined $measure ? column($measure) : undef;
    my (%groups, $rows, $skipped);
    while (defined(my $record = next_record())) {
        next if !matches($record);
        $rows++;
        my $key = join "\x1f", map { cut(trim($record->[$_->{index}] // ''), $_->{length}) } @keys;
        my $entry = $groups{$key} //= { count => 0, sum => 0, measured => 0 };
        $entry->{count}++;
        next if !defined $column;
        my $number = number($record->[$column] // '');
        if (defined $number) { $entry->{sum} += $number; $entry->{measured}++ }
        else { $skipped++ }
    }
    fail('no row fulfils the conditions') if !$rows;

    my $value = sub {
        my $entry = shift;
        return $entry->{count} if !defined $column;
        return $entry->{sum}   if defined $option{sum};
        return $entry->{measured} ? $entry->{sum} / $entry->{measured} : 0;
    };
    my @sorted = sort { $value->($groups{$b}) <=> $value->($groups{$a}) || $a cmp $b } keys %groups;
    my @shown = splice @sorted, 0, $option{top};
    my $total = sum0(map { $value->($_) } values %groups);
    my $largest = max(map { abs $value->($groups{$_}) } @shown) || 1;
    my $label = defined $option{sum} ? "sum of $measure" : defined $option{mean} ? "mean of $measure" : '';
    my $shares = !defined $option{mean} && $total > 0;

    my @titles = ((map { $_->{title} } @keys), 'rows', $label ne '' ? $label : (), $shares ? 'share' : (),
        $option{bars} ? '' : ());
    my @lines = map {
        my $entry = $groups{$_};
        my $figure = $value->($entry);
        [   (map { $_ eq '' ? '(empty)' : $_ } split /\x1f/, $_, -1),
            thousands($entry->{count}),
            $label ne ''   ? round($figure) : (),
            $shares        ? sprintf('%.1f%%', 100 * $figure / $total) : (),
            $option{bars}  ? "\x{2588}" x int(0.5 + 20 * abs($figure) / $largest) : (),
        ];
    } @shown;
    print table(\@titles, @lines);
    print "\n", amount($rows, 'row'), ' in ', amount(scalar keys %groups, 'group');
    print defined $option{sum} ? '; total ' . round($total) : '';
    print "\n";
    print amount(scalar @sorted, 'smaller group'), " not shown (--top)\n" if @sorted;
    print amount($skipped, 'value'), " of $measure left out as no number\n" if $skipped;
}

sub rows {
    my @shown = defined $option{columns} ? split(/,/, $option{columns}) : @header;
    my @columns = map { column($_) } @shown;
    my (@lines, $matching, $number);
    while (defined(my $record = next_record())) {
        $number++;
        next if !matches($record);
        push @lines, [$number, map { $record->[$_] // '' } @columns] if ++$matching <= $option{limit};
    }
    fail('no row fulfils the conditions') if !$matching;
    print table(['row', @shown], @lines);
    print "\n", amount($matching, 'matching row'), $matching > @lines ? ', the first ' . @lines . ' shown' : '', "\n";
}

# --- columns ---

sub note_value {
    my ($column, $value, $row) = @_;
    $column->{padded}++ if $value =~ /^\s|\s$/;
    $value =~ s/^\s+|\s+$//g;
    return if is_empty($value);
    $column->{filled}++;
    my $counts = $column->{counts};
    if (exists $counts->{$value} || keys %$counts < $DISTINCT_MAX) { $counts->{$value}++ }
    else { $column->{many} = 1 }
    if ($value =~ /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/) {
        $column->{dates}++;
        $column->{first} = $value if !defined $column->{first} || $value lt $column->{first};
        $column->{last}  = $value if !defined $column->{last}  || $value gt $column->{last};
        return;
    }
    my $number = number($value);
    if (!defined $number) { $column->{odd} //= "\"" . cut($value, 40) . "\" in row $row"; return }
    $column->{numbers}++;
    $column->{integers}++ if $number == int $number;
    $column->{total} = ($column->{total} // 0) + $number;
    push @{ $column->{values} }, $number if @{ $column->{values} } < $NUMBERS_MAX;
    ($column->{min}, $column->{min_row}) = ($number, $row) if !defined $column->{min} || $number < $column->{min};
    ($column->{max}, $column->{max_row}) = ($number, $row) if !defined $column->{max} || $number > $column->{max};
}

# A column counts as numbers or dates when nine of ten of its values are.
sub type_of {
    my $column = shift;
    my $filled = $column->{filled} or return 'empty';
    return 'date' if $column->{dates} >= 0.9 * $filled;
    return $column->{integers} == $column->{numbers} ? 'integer' : 'number' if $column->{numbers} >= 0.9 * $filled;
    return 'text';
}

sub describe {
    my ($column, $rows) = @_;
    my $type = type_of($column);
    my $distinct = thousands(scalar keys %{ $column->{counts} }) . ($column->{many} ? '+' : '');
    my @figures = ('', '', '', '');
    @figures = ($column->{first}, $column->{last}, '', '') if $type eq 'date';
    if ($type =~ /integer|number/) {
        my $sorted = $column->{sorted} = [sort { $a <=> $b } @{ $column->{values} }];
        my $mean = $column->{total} / $column->{numbers};
        @figures = map { round($_) } $column->{min}, $column->{max}, $mean, quantile($sorted, 0.5);
    }
    return (cut($column->{name}, 30), $type, percent($column->{filled}, $rows), $distinct, @figures);
}

sub most_frequent {
    my ($column, $rows) = @_;
    my $counts = $column->{counts};
    my @values = sort { $counts->{$b} <=> $counts->{$a} || $a cmp $b } keys %$counts;
    return if !@values || $column->{many} || $counts->{$values[0]} == 1 || type_of($column) eq 'number';
    return if @values > 20 && @values > 0.5 * $column->{filled};
    my $more = @values > $option{top} ? ', ... ' . (@values - $option{top}) . ' more' : '';
    my @shown = map { cut(cell($_), 40) . ' (' . thousands($counts->{$_}) . ', ' . percent($counts->{$_}, $rows) . ')' }
        @values[0 .. min($#values, $option{top} - 1)];
    return "$column->{name}: " . join(', ', @shown) . $more;
}

sub findings_of {
    my ($column, $rows) = @_;
    my $name = $column->{name} eq '' ? 'a column without a name' : $column->{name};
    my $type = type_of($column);
    return "$name: empty in every row" if $type eq 'empty';
    my @findings;
    push @findings, "$name: " . amount($rows - $column->{filled}, 'empty value') if $column->{filled} < $rows;
    push @findings, "$name: the same value in every row" if $rows > 1 && keys %{ $column->{counts} } == 1;
    push @findings, "$name: filled and different in every row, so it could be a key"
        if $rows > 1 && !$column->{many} && keys %{ $column->{counts} } == $rows && $type ne 'number';
    push @findings, "$name: " . amount($column->{padded}, 'value') . ' with blanks at an end' if $column->{padded};
    my $kind = $type eq 'date' ? 'dates' : $type eq 'text' ? '' : 'numbers';
    if ($kind) {
        my $odd = $column->{filled} - $column->{$kind};
        push @findings, "$name: " . amount($odd, 'value') . " outside the type $type, for example $column->{odd}"
            if $odd > 0 && defined $column->{odd};
    }
    elsif ($column->{numbers} && $column->{numbers} >= 0.5 * $column->{filled}) {
        push @findings, "$name: mixes numbers and text, for example $column->{odd}";
    }
    if (my $sorted = $column->{sorted}) {
        my ($low, $middle, $high) = map { quantile($sorted, $_) } 0.25, 0.5, 0.75;
        my $reach = 5 * ($high - $low);
        push @findings, "$name: the largest value " . round($column->{max}) . " (row $column->{max_row}) is far from the median " . round($middle)
            if $reach > 0 && $column->{max} > $high + $reach;
        push @findings, "$name: the smallest value " . round($column->{min}) . " (row $column->{min_row}) is far from the median " . round($middle)
            if $reach > 0 && $column->{min} < $low - $reach;
    }
    return @findings;
}

# --- conditions ---

sub parse_condition {
    my $text = shift;
    my ($name, $operator, $value) = $text =~ /^(.+?)\s*(!=|<=|>=|=|<|>|~)\s*(.*)$/
        or usage("--where '$text' is no condition like status=active");
    my $pattern = $operator eq '~' ? eval { qr/$value/i } : undef;
    usage("--where '$text' holds no valid regular expression") if $operator eq '~' && !$pattern;
    return { column => column($name), operator => $operator, value => $value, number => number($value), pattern => $pattern };
}

sub matches {
    my $record = shift;
    for my $condition (@conditions) {
        my $value = $record->[$condition->{column}] // '';
        $value =~ s/^\s+|\s+$//g;
        return 0 if !holds($condition, $value);
    }
    return 1;
}

# Numbers are compared as numbers when both sides are numbers, and as text otherwise.
sub holds {
    my ($condition, $value) = @_;
    my $operator = $condition->{operator};
    return $value =~ $condition->{pattern} if $operator eq '~';
    my $number = number($value);
    my $order = defined $number && defined $condition->{number} ? $number <=> $condition->{number} : $value cmp $condition->{value};
    return $order == 0 if $operator eq '=';
    return $order != 0 if $operator eq '!=';
    return 0 if is_empty($value);
    return $order < 0  if $operator eq '<';
    return $order <= 0 if $operator eq '<=';
    return $order > 0  if $operator eq '>';
    return $order >= 0;
}

sub parse_key {
    my $text = shift;
    return { index => $index{$text}, title => $text } if defined $index{$text};
    return { index => column($1), length => $2, title => $text } if $text =~ /^(.+):(\d+)$/;
    return { index => column($text), title => $text };
}

sub column {
    my $name = shift;
    return $index{$name} if defined $index{$name};
    my ($found) = grep { lc $header[$_] eq lc $name } 0 .. $#header;
    return $found // fail("there is no column '$name'; columns: " . join(', ', @header));
}

# --- reading ---

sub open_file {
    my $path = shift;
    if ($path eq '-') { binmode STDIN; return \*STDIN }
    fail("$path is a folder") if -d $path;
    open my $handle, '<:raw', $path or fail("cannot read $path: $!");
    return $handle;
}

sub next_line {
    my $line = readline $source;
    return undef if !defined $line;
    fail("$file is not text; export it as CSV first") if $line =~ /\0/;
    $line =~ s/^\xEF\xBB\xBF// if $. == 1;
    utf8::decode($line);    # stays as it is, byte by byte, when it is not UTF-8
    $line =~ s/\r?\n\z//;
    return $line;
}

# A quoted field may hold line breaks: a record goes on while its quotes are not in pairs.
sub next_record {
    my $line = next_line();
    $line = next_line() while defined $line && $line eq '';
    return undef if !defined $line;
    my $lines = 1;
    while (($line =~ tr/"//) % 2) {
        my $more = next_line();
        fail("a quote that begins near line $. is never closed") if !defined $more || ++$lines > 10_000;
        $line .= "\n$more";
    }
    return [split_record($line)];
}

sub split_record {
    my $line = shift;
    return split /\Q$delimiter\E/, $line, -1 if index($line, '"') < 0;
    my @fields;
    while (1) {
        if ($line =~ /\G\s*"((?:[^"]|"")*)"\s*(?=\Q$delimiter\E|\z)/gc) { push @fields, $1 =~ s/""/"/gr }
        elsif ($line =~ /\G((?:(?!\Q$delimiter\E).)*)/gcs) { push @fields, $1 }
        last if $line !~ /\G\Q$delimiter\E/gc;
    }
    return @fields;
}

sub delimiter_of {
    my $line = shift;
    if (defined(my $given = $option{delimiter})) {
        $given = "\t" if $given eq '\t';
        usage('--delimiter takes one character') if length $given != 1;
        return $given;
    }
    (my $plain = $line) =~ s/"(?:[^"]|"")*"//g;
    my ($best, $most) = (',', 0);
    for my $candidate (',', ';', "\t", '|') {
        my $count = () = $plain =~ /\Q$candidate\E/g;
        ($best, $most) = ($candidate, $count) if $count > $most;
    }
    return $best;
}

# --- values ---

sub is_empty { return $_[0] =~ /^(?:|-|n\/?a|nan|null|none|\\N)$/i }

sub number {
    my $text = shift;
    $text =~ s/^\s+|\s+$//g;
    $text =~ s/^([+-]?)\s*[\$€£¥]\s*/$1/;
    $text =~ s/\s*(?:[\$€£¥%]|EUR|USD|GBP)$//;
    return undef if $text !~ /\d/;
    if ($delimiter eq ';' && $text =~ /^[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+$/) { $text =~ tr/.//d; $text =~ tr/,/./ }
    elsif ($text =~ /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/) { $text =~ tr/,//d }
    return $text =~ /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/ ? $text + 0 : undef;
}

sub quantile {
    my ($sorted, $share) = @_;
    my $place = $share * $#$sorted;
    my ($below, $above) = ($sorted->[int $place], $sorted->[min(int($place) + 1, $#$sorted)]);
    return $below + ($place - int $place) * ($above - $below);
}

# --- printing ---

# Columns of figures to the right, others to the left.
sub table {
    my ($titles, @lines) = @_;
    my @width = map { my $i = $_; max(map { length cell($_->[$i]) } $titles, @lines) } 0 .. $#$titles;
    my @right = map { my $i = $_; !grep { ($_->[$i] // '') !~ /^(?:[-+]?[\d,.]+(?:e[+-]?\d+)?[%+]?)?$/i } @lines } 0 .. $#$titles;
    my $text = '';
    for my $line ($titles, @lines) {
        my @cells = map { my $pad = ' ' x ($width[$_] - length cell($line->[$_]));
            $right[$_] ? $pad . cell($line->[$_]) : cell($line->[$_]) . $pad } 0 .. $#$titles;
        ($text .= join '  ', @cells) =~ s/\s+\z//;
        $text .= "\n";
    }
    return $text;
}

sub cell { my $value = shift // ''; $value =~ s/\s+/ /g; return cut($value, 60) }

sub trim { return $_[0] =~ s/^\s+|\s+$//gr }

sub cut { my ($text, $length) = @_; return defined $length && length $text > $length ? substr($text, 0, $length) : $text }

sub listing { my $items = shift; return join(', ', @$items[0 .. min($#$items, 9)]) . (@$items > 10 ? ' and ' . (@$items - 10) . ' more' : '') }

sub thousands { my $text = reverse $_[0]; $text =~ s/(\d{3})(?=\d)/$1,/g; return scalar reverse $text }

sub amount { my ($count, $noun) = @_; return thousands($count) . " $noun" . ($count == 1 ? '' : 's') }

sub percent { my ($part, $whole) = @_; return ($whole ? sprintf('%.1f', 100 * $part / $whole) =~ s/\.0$//r : 0) . '%' }

sub round {
    my $number = shift;
    return sprintf '%.4g', $number if $number != 0 && (abs $number >= 1e15 || abs $number < 0.01);
    my ($sign, $whole, $rest) = sprintf('%.2f', $number) =~ /^(-?)(\d+)\.(\d+)$/;
    return $sign . thousands($whole) . ($rest eq '00' ? '' : ".$rest");
}

sub usage { print STDERR "csv.pl: $_[0]; see csv.pl --help\n"; exit 2 }

sub fail { print STDERR "csv.pl: $_[0]\n"; exit 1 }
